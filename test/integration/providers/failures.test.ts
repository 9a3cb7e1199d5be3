import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  balanceOf,
  errorOf,
  type GatewayClient,
  gatewayClient,
  outcome,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import type { Protocol, Received } from '../../harness/http-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import {
  errorAnswer,
  errorEvent,
  htmlBadGateway,
  plainAnswer,
  rawAnswer,
  reset,
  stall,
  streamThen,
} from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';

/** Long enough for the provider to respond on a machine that stalls for a moment. */
const LIMIT_MS = 4_000;

const gateway = withGateway({
  config: {
    models: {
      a: {},
      'two-targets': {
        targets: [
          { provider: 'fake', model: 'first' },
          { provider: 'fake', model: 'second' },
        ],
      },
      // Separate models, so that the tests wait for the time-outs concurrently.
      silent: {},
      stalled: {},
    },
    timeouts: { first_byte: `${LIMIT_MS}ms`, stream_idle: `${LIMIT_MS}ms`, total: '40s' },
    limits: { response_body: '1MiB' },
  },
});

async function newClient(protocol: Protocol): Promise<GatewayClient> {
  const { key } = await gateway.stack.operator.customer();
  return gatewayClient(gateway.stack.origin, key, { protocol });
}

/**
 * Sends one request to `model` with these acts. Returns the response, the number of provider calls
 * and the charge.
 */
async function once(
  client: GatewayClient,
  stream: boolean,
  acts: readonly [Act, ...Act[]],
  model = 'a',
): Promise<Once> {
  const before = await balanceOf(client);
  const asked = gateway.provider.requests(model).length;
  gateway.provider.script(model, ...acts);
  const received = await client.chat({ model, stream });
  await untilNothingHeld(client);
  return {
    received,
    attempts: gateway.provider.requests(model).length - asked,
    charged: before - (await balanceOf(client)),
  };
}

interface Once {
  readonly received: Received;
  readonly attempts: number;
  readonly charged: number;
}

const BEFORE_ANY_EVENT: ReadonlyArray<{ name: string; acts: [Act, ...Act[]]; expected: string; attempts: number }> = [
  { name: 'HTML 502', acts: [htmlBadGateway], expected: '503 upstream_error', attempts: 2 },
  { name: '401', acts: [errorAnswer(401, 'bad key')], expected: '500 upstream_config_error', attempts: 1 },
  { name: '500 then 200', acts: [errorAnswer(500, 'oops'), plainAnswer], expected: '200', attempts: 2 },
];

describe.each(['http1', 'http2'] as const)('%s', (protocol) => {
  let client: GatewayClient;

  beforeAll(async () => {
    client = await newClient(protocol);
  });

  afterAll(() => client?.close());

  for (const { name, acts, expected, attempts } of BEFORE_ANY_EVENT) {
    test.each([false, true])(`${name}: ${expected}, ${attempts} calls (stream: %s)`, async (stream) => {
      const result = await once(client, stream, acts);
      expect(outcome(result.received)).toBe(expected);
      expect(result.attempts).toBe(attempts);
      if (expected === '200') expect(result.charged).toBeGreaterThan(0);
      else expect(result.charged).toBe(0);
    });
  }

  test('a reset midway: one final event, [DONE], a clean end; the delivered part is charged', async () => {
    const result = await once(client, true, [streamThen(3, reset)]);
    expect(result.received.status).toBe(200);
    expect(result.attempts).toBe(1);
    expectFinalEvent(result.received, 'upstream_error');
    expect(result.received.text).toContain('"content":" from"');
    expect(result.charged).toBeGreaterThan(0);
  });
});

describe.concurrent('a provider that is silent', () => {
  test('before the first event: 408 without a retry, because the provider bills the call', async () => {
    const client = await newClient('http1');
    const result = await once(client, true, [stall], 'silent');
    expect(outcome(result.received)).toBe('408 request_timeout');
    expect(result).toMatchObject({ attempts: 1, charged: 0 });
    client.close();
  });

  test('midway: one final event, [DONE], a clean end', async () => {
    const client = await newClient('http2');
    const result = await once(client, true, [streamThen(3, stall)], 'stalled');
    expect(result).toMatchObject({ attempts: 1, received: { status: 200 } });
    expectFinalEvent(result.received, 'request_timeout', 'stalled');
    expect(result.received.text).toContain('"content":" from"');
    expect(result.charged).toBeGreaterThan(0);
    client.close();
  });
});

const FINAL_TEXTS: Readonly<Record<string, { message: string; type: string }>> = {
  upstream_error: { message: 'The model provider failed.', type: 'api_error' },
  request_timeout: { message: 'The model did not answer in time.', type: 'timeout_error' },
};

/**
 * Expects the final event of docs/interface.md, "Completions and streams", byte for byte: `error`
 * first, compact, no `event:` line, then `[DONE]`.
 */
function expectFinalEvent(received: Received, code: string, model = 'a'): void {
  const id = String(received.headers['x-generation-id']);
  const created = /"created":(\d+)/.exec(received.text.slice(received.text.lastIndexOf('data: {"error"')))?.[1];
  const { message, type } = FINAL_TEXTS[code] ?? { message: '', type: '' };
  const expected =
    `data: {"error":{"message":"${message}","type":"${type}","code":"${code}","metadata":{}},` +
    `"id":"${id}","object":"chat.completion.chunk","created":${created},"model":"${model}",` +
    '"choices":[{"index":0,"delta":{"role":"error","content":""},"finish_reason":"error"}]}\n\ndata: [DONE]\n\n';
  expect(received.text.slice(received.text.indexOf('data: {"error"'))).toBe(expected);
  expect(received.text).not.toMatch(/^event:/m);
}

test('the next target takes over before the first event, unseen by the client', async () => {
  const client = await newClient('http1');
  const onlyRole = [streamThen(1, reset), streamThen(1, errorEvent())];
  for (const act of [reset, errorAnswer(401, 'no'), htmlBadGateway, errorEvent(), ...onlyRole]) {
    gateway.provider.script('first', act);
    gateway.provider.script('second', plainAnswer);
    const received = await client.chat({ model: 'two-targets', stream: true });
    expect(received.status).toBe(200);
    expect(received.text).toContain('"model":"two-targets"');
  }
});

test("after an error about the operator's account the next target is called; it is counted and not shown to clients", async () => {
  const client = await newClient('http1');
  const counted = (kind: string) =>
    metric(gateway.stack.metricsOrigin, 'gateway_provider_account_errors_total', { provider: 'fake', kind });
  const before = [await counted('credentials'), await counted('funds')];
  const words = 'API key not valid. Please pass a valid API key.';
  const gemini = rawAnswer(
    400,
    { 'content-type': 'application/json' },
    JSON.stringify([{ error: { code: 400, message: words } }]),
  );
  const broke = errorAnswer(429, 'You exceeded your current quota, please check your plan and billing details.');
  const credentials = await once(client, false, [gemini]);
  expect(outcome(credentials.received)).toBe('500 upstream_config_error');
  expect(credentials.received.text).not.toContain('API key');
  const funds = await once(client, true, [broke]);
  expect(outcome(funds.received)).toBe('503 no_capacity');
  expect(funds.received.text).not.toContain('quota');
  expect(credentials.attempts + funds.attempts).toBe(2);
  for (const act of [gemini, broke]) {
    gateway.provider.script('first', act);
    gateway.provider.script('second', plainAnswer);
    expect(outcome(await client.chat({ model: 'two-targets' }))).toBe('200');
  }
  const refused = { provider: 'fake', result: 'status_400_auth' };
  await expect
    .poll(async () => [
      await counted('credentials'),
      await counted('funds'),
      await metric(gateway.stack.metricsOrigin, 'gateway_upstream_attempts_total', refused),
    ])
    .toEqual([...before.map((count) => count + 2), 2]);
});

test('a provider error has the retry-after of its code, and its message only if the client can act on it', async () => {
  const client = await newClient('http1');
  const busy = await once(client, false, [errorAnswer(429, 'internal words of the provider')]);
  expect(busy.received.headers['retry-after']).toBe('10');
  expect(errorOf(busy.received).message).not.toContain('internal words');
  const invalid = await once(client, false, [errorAnswer(400, 'temperature is not supported with this model')]);
  expect(errorOf(invalid.received).message).toContain('temperature is not supported with this model');
});
