import { describe, expect, test } from 'vitest';
import {
  balanceOf,
  errorOf,
  type GatewayClient,
  gatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
} from '../../harness/gateway-client.ts';
import type { Received, Send } from '../../harness/http-client.ts';
import { type GatewayOptions, withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, rawAnswer, reset, streamAnswer, streamThen } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

const USAGE = { prompt_tokens: 100, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 40 } };
/** The cost of 150 tokens at 1,000 nano-dollars each. */
const COST = 0.00015;

const READ_RPM = 5;
const CACHING = { input: 1, output: 1, cache_write: 1 };

const gateway = withGateway(
  ({ baseUrl }): GatewayOptions => ({
    config: {
      models: {
        one: {},
        tools: { capabilities: ['tools', 'json_mode'], reasoning_efforts: ['low'] },
        caching: { usd_per_million_tokens: CACHING },
        same: { targets: [{ provider: 'own', model: 'same', api: 'anthropic' }] },
      },
      providers: { own: { base_url: baseUrl, headers: { 'anthropic-beta': 'of-operator' } } },
      apis: { messages: true },
      timeouts: { heartbeat: '100ms' },
      retries: { per_target: 0 },
      limits: { read_rpm: READ_RPM },
    },
  }),
);

const MESSAGES = [{ role: 'user', content: 'Hello' }];

/** Also checks that each response has its id as `request-id`, which Anthropic's SDKs read. */
async function ask(client: GatewayClient, body: object, more: Partial<Send> = {}): Promise<Received> {
  const received = await client.send({
    path: '/v1/messages',
    body: JSON.stringify({ model: 'one', max_tokens: 100, messages: MESSAGES, ...body }),
    ...more,
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...more.headers },
  });
  expect(received.headers['request-id']).toBe(received.headers['x-request-id']);
  return received;
}

const count = (client: GatewayClient, body: object, more: Partial<Send> = {}) =>
  ask(client, { max_tokens: undefined, ...body }, { path: '/v1/messages/count_tokens?beta=true', ...more });

const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

const eventsIn = ({ text }: Received): Record<string, unknown>[] =>
  text.split('\n\n').flatMap((event) => {
    const [, data] = event.split('\ndata: ');
    return data === undefined ? [] : [JSON.parse(data)];
  });

describe('the door of Messages', () => {
  test('is charged as chat, and its usage reports cached input separately', async () => {
    const client = await gateway.openClient();
    gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
    const received = await ask(client, { metadata: { user_id: 'u-1' } });
    const message = jsonOf<{ id: string }>(received);
    expect(message).toMatchObject({
      ...{ type: 'message', role: 'assistant', model: 'one', stop_reason: 'end_turn' },
      usage: { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 50, cost: COST },
    });
    expect(received.headers['x-generation-id']).toBe(message.id);
    expect(await settledGeneration(client, message.id)).toMatchObject({ api: 'messages', total_cost: COST });
  });

  test("accepts the key only as a bearer token, and refuses with Anthropic's error envelope", async () => {
    const client = await gateway.openClient();
    const headers = { authorization: 'none', 'x-api-key': 'sk-gw-any' };
    const received = await ask(client, {}, { headers });
    expect(received.status).toBe(401);
    expect(JSON.parse(received.text)).toEqual({
      type: 'error',
      error: expect.objectContaining({ type: 'authentication_error', code: 'invalid_api_key', metadata: {} }),
      request_id: received.headers['x-request-id'],
    });
  });

  test.each(['http1', 'http2'] as const)('refuses large headers in the form of Messages: %s', async (protocol) => {
    const client = gatewayClient(gateway.stack.origin, 'sk-gw-any', { protocol });
    const received = await ask(client, {}, { headers: { 'x-large': 'v'.repeat(17_000) } });
    client.close();
    expect(JSON.parse(received.text)).toEqual({
      type: 'error',
      error: expect.objectContaining({ type: 'invalid_request_error', code: 'request_too_large', metadata: {} }),
      request_id: received.headers['x-request-id'],
    });
  });

  const image = { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } };
  const result = { type: 'tool_result', tool_use_id: 't', content: 'x' };
  test.each([
    [{ max_tokens: undefined }, '400 invalid_request', 'max_tokens'],
    [{ max_tokens: 1e9 }, '400 max_tokens_exceeds_cap', 'max_tokens'],
    [
      { messages: [{ role: 'user', content: [result, image] }] },
      '400 image_url_not_supported',
      'messages[0].content[1].source',
    ],
    [{ model: 'tools', tools: [{ name: '', input_schema: {} }] }, '400 invalid_request', 'tools[0].name'],
    [{ output_config: { effort: 'huge' } }, '400 invalid_request', 'output_config.effort'],
    [
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      '400 json_mode_not_supported',
      'output_config.format',
    ],
    [{ service_tier: 'flex' }, '400 invalid_request', 'service_tier'],
    [{ thread: { type: 'create' } }, '400 invalid_request', 'thread'],
    [{ metadata: { user_id: 'x'.repeat(600) } }, '400 invalid_request', 'metadata.user_id'],
    [{ mcp_servers: [] }, '400 invalid_request', 'mcp_servers'],
    [
      { model: 'caching', system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
      '400 invalid_request',
      'system[0].cache_control',
    ],
  ])("refuses %j as chat does, with the field's name in Messages", async (body, expected, param) => {
    const received = await ask(await gateway.openClient(), body);
    expect([outcome(received), errorOf(received).param]).toEqual([expected, param]);
    expect(errorOf(received).message).not.toMatch(/tool_calls|image_url\.url|function\.name/);
  });

  test('accepts an effort and thinking for every model', async () => {
    const client = await gateway.openClient();
    const asked = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
    for (const [model, effort] of [
      ['one', undefined],
      ['tools', 'low'],
    ] as const) {
      expect((await ask(client, { model, ...asked })).status).toBe(200);
      expect(gateway.provider.requests(model).at(-1)?.json?.reasoning_effort).toBe(effort);
    }
  });

  test('passes the body and the betas to a target that speaks Messages, and hides the user', async () => {
    const client = await gateway.openClient();
    const message = {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null },
      ...{ content: [{ type: 'text', text: 'Hi.' }], usage: { input_tokens: 100, output_tokens: 50 }, price: 1 },
    };
    gateway.provider.script('same', rawAnswer(200, { 'content-type': 'application/json' }, JSON.stringify(message)));
    const body = { model: 'same', thinking: { type: 'adaptive', display: 'omitted' }, top_k: 7, service_tier: 'auto' };
    const more = { metadata: { user_id: 'u-1' }, context_management: { edits: [{ type: 'clear_thinking_20251015' }] } };
    const received = await ask(client, { ...body, ...more }, { headers: { 'anthropic-beta': 'effort-2025-11-24' } });
    const sent = gateway.provider.requests('same').at(-1);
    expect(sent?.json).toEqual({
      ...{ ...body, ...more, messages: MESSAGES, max_tokens: 100, service_tier: 'standard_only' },
      metadata: { user_id: expect.not.stringContaining('u-1') },
    });
    expect(sent?.headers['anthropic-beta']).toBe('of-operator,effort-2025-11-24');
    expect(jsonOf(received)).toMatchObject({
      ...{ model: 'same', content: message.content, stop_reason: 'end_turn' },
      usage: { input_tokens: 100, output_tokens: 50, cost: COST },
    });
    expect(received.text).not.toMatch(/msg_1|price/);
  });

  test('counts tokens free of charge, within the limit of reads', async () => {
    const client = await gateway.openClient();
    const before = await balanceOf(client);
    const [short, long] = ['x', 'All work and no play. '.repeat(100_000)].map((content) => [{ role: 'user', content }]);
    const counted = jsonOf<{ input_tokens: number }>(await count(client, { messages: short }));
    expect(counted).toEqual({ input_tokens: expect.any(Number) });
    expect(counted.input_tokens).toBeGreaterThan(0);
    // Longer than the model's context window.
    expect(jsonOf<{ input_tokens: number }>(await count(client, { messages: long })).input_tokens).toBeGreaterThan(
      200_000,
    );
    expect(outcome(await count(client, { max_tokens: 'x' }))).toBe('400 invalid_request');
    expect(outcome(await count(client, { model: 'none' }))).toBe('404 model_not_found');
    expect(await balanceOf(client)).toBe(before);
    const further = [];
    // If a minute ends meanwhile, two windows admit READ_RPM requests each.
    for (let read = 0; read < 2 * READ_RPM + 1; read++) further.push(outcome(await count(client, {})));
    expect(further).toContain('429 rpm_exceeded');
  });

  test("refuses a customer without money, and reports a provider's error, in Anthropic's envelope", async () => {
    const poor = await gateway.openClient({ credit: '0.000001' });
    const refused = await ask(poor, {});
    expect(outcome(refused)).toBe('402 insufficient_credits');
    expect(JSON.parse(refused.text)).toMatchObject({ type: 'error', error: { type: 'insufficient_credits' } });
    gateway.provider.script('one', errorAnswer(500, 'broken'));
    expect(outcome(await ask(await gateway.openClient(), { stream: true }))).toBe('503 upstream_error');
  });

  test.each([false, true])('replays a response for an Idempotency-Key, stream: %s', async (stream) => {
    const client = await gateway.openClient();
    const headers = { 'idempotency-key': `replayed-${stream}` };
    gateway.provider.script('one', stream ? streamAnswer({ usage: USAGE }) : jsonAnswer({ usage: USAGE }));
    const first = await ask(client, { stream }, { headers });
    const again = await ask(client, { stream }, { headers });
    // Pings are not stored.
    expect(again.text).toBe(first.text.replaceAll(PING, ''));
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  test('sends pings on a silent stream, and ends a broken one with the error event of Messages', async () => {
    const client = await gateway.openClient();
    const before = await balanceOf(client);
    const gate = createGate();
    gateway.provider.script('one', gate.before(streamThen(2, reset)));
    let text = '';
    const onPiece = (piece: string) => {
      text += piece;
      if (text.includes(PING)) gate.open();
    };
    const received = await ask(client, { stream: true }, { onPiece });
    const events = eventsIn(received).filter(({ type }) => type !== 'ping');
    expect(events.map(({ type }) => type)).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta'],
      ...['message_delta', 'error'],
    ]);
    expect(events.at(-2)).toMatchObject({ usage: { cost: expect.any(Number) } });
    expect(events.at(-1)).toMatchObject({
      error: { code: 'upstream_error', type: 'api_error' },
      request_id: received.headers['x-request-id'],
    });
    expect(await balanceOf(client)).toBeLessThan(before);
  });
});
