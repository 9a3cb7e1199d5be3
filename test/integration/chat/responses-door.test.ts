import { describe, expect, test } from 'vitest';
import {
  balanceOf,
  errorOf,
  type GatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
} from '../../harness/gateway-client.ts';
import type { Received, Send } from '../../harness/http-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, reset, streamAnswer, streamThen } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

const USAGE = { prompt_tokens: 100, completion_tokens: 50 };
/** The cost of 150 tokens at 1,000 nano-dollars each. */
const COST = 0.00015;

const gateway = withGateway({
  config: {
    models: { one: {}, tools: { capabilities: ['tools', 'json_mode'], reasoning_efforts: ['low'] } },
    apis: { responses: true },
    timeouts: { heartbeat: '100ms' },
    retries: { per_target: 0 },
  },
});

function ask(client: GatewayClient, body: object, more: Partial<Send> = {}): Promise<Received> {
  return client.send({
    path: '/v1/responses',
    body: JSON.stringify({ model: 'one', input: 'Hello', ...body }),
    ...more,
    headers: { 'content-type': 'application/json', ...more.headers },
  });
}

const eventsIn = ({ text }: Received): Record<string, unknown>[] =>
  text.split('\n\n').flatMap((event) => {
    const [, data] = event.split('\ndata: ');
    return data === undefined ? [] : [JSON.parse(data)];
  });

describe('the door of Responses', () => {
  test('is listed at each model that it serves', async () => {
    const [open] = jsonOf<{ data: object[] }>(await (await gateway.openClient()).get('/v1/models')).data;
    expect(open).toMatchObject({ supported_endpoints: ['/v1/chat/completions', '/v1/responses'] });
  });

  test('is charged as chat, and its generation names the API', async () => {
    const client = await gateway.openClient();
    gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
    const received = await ask(client, { metadata: { a: 'b' }, user: 'u-1' });
    const response = jsonOf<{ id: string; output: object[]; usage: object }>(received);
    expect(response).toMatchObject({
      ...{ object: 'response', status: 'completed', model: 'one', metadata: { a: 'b' }, user: 'u-1', store: false },
      usage: { input_tokens: 100, output_tokens: 50, total_tokens: 150, cost: COST },
    });
    expect(received.headers['x-generation-id']).toBe(response.id);
    expect(await settledGeneration(client, response.id)).toMatchObject({ api: 'responses', total_cost: COST });
    const chat = await client.chat({ model: 'one' });
    expect(await settledGeneration(client, jsonOf<{ id: string }>(chat).id)).toMatchObject({ api: 'chat' });
  });

  test.each([
    [{ max_output_tokens: 1e9 }, '400 max_tokens_exceeds_cap', 'max_output_tokens'],
    [{ reasoning: { effort: 'huge' } }, '400 reasoning_effort_not_supported', 'reasoning.effort'],
    [{ text: { format: { type: 'json_object' } } }, '400 json_mode_not_supported', 'text.format'],
    [{ model: 'tools', tools: [{ type: 'function', name: '' }] }, '400 invalid_request', 'tools[0].name'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }] }] },
      '400 image_url_not_supported',
      'input[0].content[0].image_url',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
      '400 invalid_request',
      'input[0].content[0].file_id',
    ],
  ])("refuses %j as chat does, with the field's name in Responses", async (body, expected, param) => {
    const received = await ask(await gateway.openClient(), body);
    expect([outcome(received), errorOf(received).param]).toEqual([expected, param]);
    expect(errorOf(received).message).not.toMatch(/messages\[|max_completion_tokens|function\.name/);
  });

  test.each([false, true])('replays a response for an Idempotency-Key, stream: %s', async (stream) => {
    const client = await gateway.openClient();
    const headers = { 'idempotency-key': `replayed-${stream}` };
    gateway.provider.script('one', stream ? streamAnswer({ usage: USAGE }) : jsonAnswer({ usage: USAGE }));
    const first = await ask(client, { stream }, { headers });
    const again = await ask(client, { stream }, { headers });
    // Heartbeats are not stored.
    expect(again.text).toBe(first.text.replaceAll(': heartbeat\n\n', ''));
    expect(again.headers['idempotent-replayed']).toBe('true');
    // The key does not replay the response at another path.
    const other = await ask(client, { stream }, { headers, path: '/v1/chat/completions' });
    expect(outcome(other)).toBe('400 unknown_parameter');
    expect(gateway.provider.requests('one').at(-1)?.body.toString()).not.toContain('"input"');
  });

  test('sends heartbeats on a silent stream, and ends a broken one with `response.failed`', async () => {
    const client = await gateway.openClient();
    const before = await balanceOf(client);
    const gate = createGate();
    gateway.provider.script('one', gate.before(streamThen(2, reset)));
    let text = '';
    const onPiece = (piece: string) => {
      text += piece;
      if (text.includes(': heartbeat\n\n')) gate.open();
    };
    const received = await ask(client, { stream: true }, { onPiece });
    const events = eventsIn({ ...received, text: received.text.replaceAll(': heartbeat\n\n', '') });
    expect(events.map(({ type }) => type).slice(-2)).toEqual(['error', 'response.failed']);
    expect(events.at(-1)).toMatchObject({ response: { status: 'failed', error: { code: 'upstream_error' } } });
    expect(received.text).not.toContain('[DONE]');
    expect(await balanceOf(client)).toBeLessThan(before);
  });

  test('ends a stream with `response.failed` if heartbeats were sent and no target serves it', async () => {
    const client = await gateway.openClient();
    const before = await balanceOf(client);
    const gate = createGate();
    gateway.provider.script('one', gate.before(errorAnswer(500, 'broken')));
    const onPiece = (piece: string) => void (piece.includes(': heartbeat\n\n') && gate.open());
    const received = await ask(client, { stream: true }, { onPiece });
    const events = eventsIn({ ...received, text: received.text.replaceAll(': heartbeat\n\n', '') });
    expect(events.map(({ type }) => type)).toEqual([
      ...['response.created', 'response.in_progress', 'error', 'response.failed'],
    ]);
    expect(events.at(-1)).toMatchObject({ response: { usage: null } });
    expect(await balanceOf(client)).toBe(before);
  });
});
