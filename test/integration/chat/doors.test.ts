import { describe, expect, test } from 'vitest';
import { eventOf, streamOf } from '#ext-proc/delivery/other-apis.fixture.ts';
import { messageWith, text } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { scripted as scriptedMessage } from '#ext-proc/dialects/anthropic/scripted-stream.fixture.ts';
import { message, responseWith } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { scripted as scriptedResponse } from '#ext-proc/dialects/responses/scripted-stream.fixture.ts';
import { balanceOf, type GatewayClient, outcome, settledGeneration } from '../../harness/gateway-client.ts';
import type { Received, Send } from '../../harness/http-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { eventsThen, jsonAnswer, raw, rawAnswer, stall, streamAnswer } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';
import { streamEvents } from '../../provider/chat-format.ts';
import { embeddingsAnswer } from '../../provider/embeddings.ts';

/** Rules that hold at every door, whatever API the target speaks. */
const TARGETS = ['chat', 'responses', 'anthropic'] as const;
const PRICES = { input: 2, cached_input: 1, output: 8 };

const gateway = withGateway(({ baseUrl }) => ({
  config: {
    providers: { fake: { base_url: baseUrl, on_disconnect: 'abort' } },
    models: {
      ...Object.fromEntries(
        TARGETS.map((api) => [
          api,
          { usd_per_million_tokens: PRICES, targets: [{ provider: 'fake', model: api, api }] },
        ]),
      ),
      vectors: { capabilities: ['embeddings'], usd_per_million_tokens: { input: 1 } },
    },
    apis: { responses: true, messages: true, embeddings: true },
    timeouts: { first_byte: '20s', stream_idle: '20s', total: '40s' },
    limits: { read_rpm: 10_000 },
  },
}));

const MESSAGES = [{ role: 'user', content: 'Hello' }];

/** The chat body is byte for byte a valid Messages body too. */
const DOORS = {
  chat: { path: '/v1/chat/completions', body: { max_tokens: 100, messages: MESSAGES } },
  responses: { path: '/v1/responses', body: { max_output_tokens: 100, input: 'Hello' } },
  messages: { path: '/v1/messages', body: { max_tokens: 100, messages: MESSAGES } },
  embeddings: { path: '/v1/embeddings', body: { input: 'Hello' } },
} as const;
type DoorName = keyof typeof DOORS;

function ask(client: GatewayClient, door: DoorName, body: object, more: Partial<Send> = {}): Promise<Received> {
  return client.send({
    path: DOORS[door].path,
    body: JSON.stringify({ ...body, ...DOORS[door].body }),
    ...more,
    headers: { 'content-type': 'application/json', ...more.headers },
  });
}

const SAID = Array.from({ length: 20 }, (_, index) => ` word${index}`);

/** The same response and usage in the form of each provider API. */
const CHAT = {
  pieces: SAID,
  usage: { prompt_tokens: 100, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 40 } },
};
const RESPONSE = responseWith([message(SAID.join(''))], {
  usage: {
    ...{ input_tokens: 100, output_tokens: 50, total_tokens: 150 },
    input_tokens_details: { cached_tokens: 40, cache_write_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
});
const OF_MESSAGES = messageWith([text(SAID.join(''))]);
const MESSAGE = {
  ...OF_MESSAGES,
  usage: {
    ...OF_MESSAGES.usage,
    ...{ input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 50, output_tokens_details: null },
    ...{ cache_creation_input_tokens: 0, cache_creation: null },
  },
};
const COST = (60 * PRICES.input + 40 * PRICES.cached_input + 50 * PRICES.output) / 1e6;

const whole = (body: object): Act => rawAnswer(200, { 'content-type': 'application/json' }, JSON.stringify(body));

const ANSWERS: Readonly<Record<(typeof TARGETS)[number], readonly [json: Act, stream: Act]>> = {
  chat: [jsonAnswer({ text: SAID.join(''), usage: CHAT.usage }), streamAnswer(CHAT)],
  responses: [whole(RESPONSE), raw(streamOf(scriptedResponse(RESPONSE)))],
  anthropic: [whole(MESSAGE), raw(streamOf(scriptedMessage(MESSAGE)))],
};

const PAIRS = (['chat', 'responses', 'messages'] as const).flatMap((door) =>
  TARGETS.map((target) => [door, target] as const),
);

describe.each(PAIRS)('%s, served by a target that speaks %s', (door, target) => {
  test.each([false, true])('is charged by the usage that the provider reported, stream: %s', async (stream) => {
    const client = await gateway.openClient();
    const before = await balanceOf(client);
    gateway.provider.script(target, ANSWERS[target][Number(stream)] as Act);
    const options = stream && door === 'chat' ? { stream_options: { include_usage: true } } : {};
    const received = await ask(client, door, { model: target, stream, ...options });
    expect(outcome(received)).toBe('200');
    const costs = [...received.text.matchAll(/"cost":([\d.e-]+)/g)].map(([, cost]) => Number(cost));
    expect(costs).toEqual([COST]);
    expect(received.text.match(/word\d+/g)?.length).toBeGreaterThanOrEqual(SAID.length);
    expect(await settledGeneration(client, String(received.headers['x-generation-id']))).toMatchObject({
      ...{ api: door, total_cost: COST, tokens_prompt: 100, tokens_completion: 50, streamed: stream },
    });
    expect(before - (await balanceOf(client))).toBeCloseTo(COST, 9);
  });

  test('a client that disconnects during a stream is charged for the events that it received', async () => {
    const client = await gateway.openClient();
    const before = await balanceOf(client);
    // The provider then stays silent, so only the client's disconnect ends the request.
    const events = {
      chat: streamEvents({ model: target, ...CHAT }),
      responses: scriptedResponse(RESPONSE).map(eventOf),
      anthropic: scriptedMessage(MESSAGE).map(eventOf),
    }[target];
    const sent = events.slice(
      0,
      events.findIndex((event) => event.includes('word8')),
    );
    gateway.provider.script(target, eventsThen(sent, stall));
    const leaving = new AbortController();
    let id = '';
    let got = '';
    const asked = ask(
      client,
      door,
      { model: target, stream: true },
      {
        signal: leaving.signal,
        onHead: (_, headers) => {
          id = String(headers['x-generation-id']);
        },
        onPiece: (piece) => {
          got += piece;
          if (got.includes('word3')) leaving.abort();
        },
      },
    );
    await expect(asked).rejects.toThrow();
    await expect.poll(() => gateway.provider.requests(target).at(-1)?.hungUp).toBe(true);
    const generation = await settledGeneration(client, id);
    expect(generation).toMatchObject({ api: door, cancelled: true, streamed: true });
    expect(generation.tokens_prompt).toBeGreaterThan(0);
    // All 20 words would be at least 40 tokens.
    expect(generation.tokens_completion).toBeGreaterThan(3);
    expect(generation.tokens_completion).toBeLessThan(24);
    expect(before - (await balanceOf(client))).toBeCloseTo(Number(generation.total_cost), 9);
    expect(generation.total_cost).toBeGreaterThan(0);
  });
});

const NAMES = Object.keys(DOORS) as DoorName[];
const OTHERS = NAMES.flatMap((first) => NAMES.filter((name) => name !== first).map((name) => [first, name] as const));

test.each(OTHERS)('an Idempotency-Key of %s is reused at the door of %s', async (first, second) => {
  const client = await gateway.openClient();
  const headers = { 'idempotency-key': 'k' };
  const modelAt = (door: DoorName) => ({ model: door === 'embeddings' ? 'vectors' : 'chat' });
  gateway.provider.script('vectors', embeddingsAnswer());
  gateway.provider.script('chat', ANSWERS.chat[0]);
  const asked = await ask(client, first, modelAt(first), { headers });
  expect(outcome(asked)).toBe('200');
  const calls = gateway.provider.requests().length;
  expect(outcome(await ask(client, second, modelAt(second), { headers }))).toBe('422 idempotency_key_reused');
  expect(gateway.provider.requests().length).toBe(calls);
  const again = await ask(client, first, modelAt(first), { headers });
  expect([again.text, again.headers['idempotent-replayed']]).toEqual([asked.text, 'true']);
});
