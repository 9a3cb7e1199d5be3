import { describe, expect, test } from 'vitest';
import {
  balanceOf,
  errorOf,
  type GatewayClient,
  gatewayClient,
  jsonOf,
  outcome,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import type { Protocol, Received } from '../../harness/http-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { untilMinuteIsYoung } from '../../harness/young-window.ts';
import { errorAnswer, jsonAnswer, reset, slowly, streamAnswer, streamThen } from '../../provider/acts.ts';
import { createGate, type Gate } from '../../provider/gate.ts';

const PIECES = Array.from({ length: 12 }, (_, index) => ` wörd${index}`);
const USAGE = { prompt_tokens: 100, completion_tokens: 50 };
/** The cost of one response with USAGE at 1,000 nano-dollars a token. */
const COST = 0.00015;

const gateway = withGateway((provider) => ({
  config: {
    providers: { fake: { base_url: provider.baseUrl, on_disconnect: 'abort' } },
    models: { one: {} },
    limits: { read_rpm: 100 },
    retries: { per_target: 0 },
  },
}));

let keys = 0;
/** A new key, with every kind of accepted character. */
const newKey = (): string => `key-${keys++}~!"{}`;

async function newClient(protocol: Protocol = 'http1'): Promise<GatewayClient> {
  return gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer()).key, { protocol });
}

function ask(
  client: GatewayClient,
  key: string,
  body: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<Received> {
  const headers = { 'idempotency-key': key };
  return client.chat({ model: 'one', ...body }, { headers, ...(signal ? { signal } : {}) });
}

/** Disconnects when the provider's response waits at the gate. */
async function askAndLeave(client: GatewayClient, key: string, body: Record<string, unknown>, gate: Gate) {
  const leaving = new AbortController();
  const left = expect(ask(client, key, body, leaving.signal)).rejects.toThrow();
  await gate.waitFor(1);
  leaving.abort();
  await left;
}

const calls = (): number => gateway.provider.requests('one').length;

describe.each(['http1', 'http2'] as const)('%s', (protocol) => {
  test.each([
    ['JSON', {}],
    ['a stream', { stream: true }],
    ['a stream with its usage', { stream: true, stream_options: { include_usage: true } }],
  ])('%s is replayed byte for byte, with its generation id, and billed once', async (_, body) => {
    const client = await newClient(protocol);
    const key = newKey();
    gateway.provider.script(
      'one',
      'stream' in body ? streamAnswer({ pieces: PIECES, usage: USAGE }) : jsonAnswer({ usage: USAGE }),
    );
    const first = await ask(client, key, body);
    const before = calls();
    const second = await ask(client, key, body);
    expect([first.status, second.status, calls() - before]).toEqual([200, 200, 0]);
    expect(second.body.equals(first.body)).toBe(true);
    expect(second.text).toContain('stream' in body ? 'data: [DONE]' : '"usage"');
    for (const name of ['content-type', 'cache-control', 'x-generation-id'])
      expect([name, second.headers[name]]).toEqual([name, first.headers[name]]);
    expect([first.headers['idempotent-replayed'], second.headers['idempotent-replayed']]).toEqual([undefined, 'true']);
    expect(second.headers['x-request-id']).toMatch(/./);
    expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(await balanceOf(client)).toBe(100 - COST);
    await untilNothingHeld(client);
  });

  test('a client that disconnects and sends the request again gets the stored response', async () => {
    const client = await newClient(protocol);
    for (const stream of [false, true]) {
      const key = newKey();
      const gate = createGate();
      const onEvent = (index: number) => (index === 5 ? gate.pass() : undefined);
      const content = { usage: USAGE };
      gateway.provider.script(
        'one',
        stream ? streamAnswer({ ...content, pieces: PIECES, onEvent }) : gate.before(jsonAnswer(content)),
      );
      await askAndLeave(client, key, { stream }, gate);
      const before = calls();
      const running = await ask(client, key, { stream });
      expect(outcome(running)).toBe('409 idempotency_key_in_flight');
      gate.open();
      await untilNothingHeld(client);
      const found = await ask(client, key, { stream });
      expect([found.status, found.headers['idempotent-replayed'], calls() - before]).toEqual([200, 'true', 0]);
      if (stream) expect(found.text).toContain(PIECES.at(-1));
    }
    expect(await balanceOf(client)).toBe(100 - 2 * COST);
  });

  test('a client that disconnects before the first event of a stream gets it later too', async () => {
    const client = await newClient(protocol);
    const key = newKey();
    const gate = createGate();
    gateway.provider.script('one', gate.before(slowly(150, streamAnswer({ pieces: PIECES, usage: USAGE }))));
    await askAndLeave(client, key, { stream: true }, gate);
    gate.open();
    await untilNothingHeld(client);
    const found = await ask(client, key, { stream: true });
    expect([found.status, found.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(found.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});

test('60 at once with one key: one provider call, one response, and 409 with retry-after for the others', async () => {
  const client = await newClient();
  const key = newKey();
  const gate = createGate();
  gateway.provider.script('one', gate.before(jsonAnswer({ usage: USAGE })));
  const before = calls();
  let decided = 0;
  const answers = Array.from({ length: 60 }, async () => {
    const received = await ask(client, key);
    decided += 1;
    return received;
  });
  await expect.poll(() => decided).toBe(59);
  gate.open();
  const received = await Promise.all(answers);
  const counts = Object.groupBy(received, outcome);
  expect([counts['200']?.length, counts['409 idempotency_key_in_flight']?.length]).toEqual([1, 59]);
  expect(calls() - before).toBe(1);
  const [refused] = counts['409 idempotency_key_in_flight'] ?? [];
  expect(Number(refused?.headers['retry-after-ms'])).toBeGreaterThan(0);
  expect(refused && errorOf(refused).param).toBe('Idempotency-Key');
  expect((await ask(client, key)).text).toBe(counts['200']?.[0]?.text);
  expect(await balanceOf(client)).toBe(100 - COST);
});

test('another body with the same key is refused during and after the first; other organizations are unaffected', async () => {
  const client = await newClient();
  const stranger = await newClient();
  const key = newKey();
  const gate = createGate();
  gateway.provider.script('one', gate.before(jsonAnswer({ usage: USAGE })));
  const first = ask(client, key, { temperature: 1 });
  await gate.waitFor(1);
  expect(outcome(await ask(client, key, { temperature: 0 }))).toBe('422 idempotency_key_reused');
  gate.open();
  expect((await first).status).toBe(200);
  expect(outcome(await ask(client, key, { temperature: 0 }))).toBe('422 idempotency_key_reused');
  const elsewhere = await ask(stranger, key, { temperature: 0 });
  expect([elsewhere.status, elsewhere.headers['idempotent-replayed']]).toEqual([200, undefined]);
});

test('a request that is refused, fails or breaks midway frees its key', async () => {
  const client = await newClient();
  const key = newKey();
  gateway.provider.script(
    'one',
    errorAnswer(500, 'no'),
    errorAnswer(400, 'no'),
    streamThen(3, reset),
    streamAnswer({ usage: USAGE }),
  );
  expect(outcome(await ask(client, key, { stream: true }))).toBe('503 upstream_error');
  expect(outcome(await ask(client, key, { stream: true, temperature: 0 }))).toBe('400 invalid_request');
  const broken = await ask(client, key, { stream: true });
  expect(broken.text).toContain('"finish_reason":"error"');
  const billed = 100 - (await balanceOf(client));
  expect(billed).toBeGreaterThan(0);
  const whole = await ask(client, key, { stream: true });
  expect(whole.headers['idempotent-replayed']).toBeUndefined();
  expect(whole.text).not.toContain('error');
  expect((await ask(client, key, { stream: true })).text).toBe(whole.text);
  const poor = gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer({ credit: '0' })).key);
  for (let i = 0; i < 2; i++) expect(outcome(await ask(poor, key))).toBe('402 insufficient_credits');
});

test('the header is validated after the body and before the model', async () => {
  const client = await newClient();
  gateway.provider.script('one', jsonAnswer());
  for (const key of ['', 'with space', 'x'.repeat(256), 'tab\tinside', 'ümlaut']) {
    const received = await ask(client, key);
    expect([key, outcome(received)]).toEqual([key, '400 invalid_request']);
    expect(errorOf(received).param).toBe('Idempotency-Key');
  }
  for (const key of ['x'.repeat(255), '!', '~']) expect((await ask(client, key)).status).toBe(200);
  expect(outcome(await ask(client, 'with space', { temperature: 9 }))).toBe('400 invalid_request');
  expect(errorOf(await ask(client, 'with space', { temperature: 9 })).param).toBe('temperature');
  expect(outcome(await ask(client, 'with space', { n: 2 }))).toBe('400 invalid_request');
  expect(outcome(await ask(client, '!', { model: 'none' }))).toBe('404 model_not_found');
  expect((await client.send({ path: '/v1/models', headers: { 'idempotency-key': 'with space' } })).status).toBe(200);
});

test('replays count only against read_rpm', async () => {
  const limits = { requestsPerMinute: 2 };
  const client = gatewayClient(
    gateway.stack.origin,
    (await gateway.stack.operator.customer({ organization: limits })).key,
  );
  await untilMinuteIsYoung();
  gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
  const key = newKey();
  const first = await ask(client, key);
  expect(first.headers['x-ratelimit-remaining-requests']).toBe('1');
  const replays = await Promise.all(Array.from({ length: 101 }, () => ask(client, key)));
  const counts = Object.groupBy(replays, outcome);
  expect([counts['200']?.length, counts['429 rpm_exceeded']?.length]).toEqual([100, 1]);
  expect(Number(counts['429 rpm_exceeded']?.[0]?.headers['retry-after'])).toBeGreaterThan(0);
  const fresh = await ask(client, newKey());
  expect([fresh.status, fresh.headers['x-ratelimit-remaining-requests']]).toEqual([200, '0']);
  expect(outcome(await ask(client, newKey()))).toBe('429 rpm_exceeded');
});

test('a response that is too large to be sent in one piece is replayed completely', async () => {
  const client = await newClient();
  const key = newKey();
  gateway.provider.script('one', jsonAnswer({ text: 'é'.repeat(3_000_000), usage: USAGE }));
  const first = await ask(client, key);
  expect(first.status).toBe(200);
  const second = await ask(client, key);
  expect(second.headers['idempotent-replayed']).toBe('true');
  expect(second.body.equals(first.body)).toBe(true);
  expect(jsonOf(second).id).toBe(second.headers['x-generation-id']);
});

test('the ledger verifies after all of these requests', async () => {
  await gateway.stack.operator.verifyLedger();
});
