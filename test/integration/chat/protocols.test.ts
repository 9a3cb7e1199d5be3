import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { eventsOf, type GatewayClient, gatewayClient, jsonOf } from '../../harness/gateway-client.ts';
import type { Protocol } from '../../harness/http-client.ts';
import { opened } from '../../harness/opened.ts';
import type { Customer } from '../../harness/operator.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { PROVIDER_SECRET } from '../../harness/test-config.ts';
import { streamAnswer } from '../../provider/acts.ts';
import { makeCertificate } from '../../provider/certificate.ts';
import { DEFAULT_TEXT } from '../../provider/chat-format.ts';
import { startFakeProvider } from '../../provider/fake-provider.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-tls-'));
const certificate = makeCertificate();
const plainProvider = opened(startFakeProvider);
const tlsProvider = opened(() => startFakeProvider({ tls: certificate, http2: true }));
const stacks = new Map<'plain' | 'tls', { stack: Stack; customer: Customer }>();

beforeAll(async () => {
  const paths = { certificate: join(folder, 'server.crt'), private_key: join(folder, 'server.key') };
  writeFileSync(paths.certificate, certificate.cert);
  writeFileSync(paths.private_key, certificate.key, { mode: 0o600 });
  for (const kind of ['plain', 'tls'] as const) {
    const stack = await startStack({
      postgresSocketDir: inject('postgresSocketDir'),
      env: { SSL_CERT_FILE: paths.certificate },
      config: {
        providers: {
          fake: { base_url: plainProvider.baseUrl },
          secure: {
            base_url: tlsProvider.baseUrl.replace('127.0.0.1', 'localhost'),
            output_limit_field: 'max_completion_tokens',
          },
        },
        models: {
          chat: { max_output_tokens: 512, targets: [{ provider: 'fake', model: 'upstream-name' }] },
          secure: { targets: [{ provider: 'secure', model: 'secure' }] },
        },
        ...(kind === 'tls' ? { tls: paths } : {}),
      },
    });
    stacks.set(kind, { stack, customer: await stack.operator.customer() });
  }
});

afterAll(async () => {
  for (const { stack } of stacks.values()) await stack.close();
  rmSync(folder, { recursive: true, force: true });
});

showLogsOnFailure(() => ({ logs: () => [...stacks.values()].map(({ stack }) => stack.logs()).join('\n') }));

function open(kind: 'plain' | 'tls', protocol: Protocol): GatewayClient {
  const found = stacks.get(kind);
  if (!found) throw new Error('the stack did not start');
  const origin = found.stack.origin.replace('127.0.0.1', 'localhost');
  return gatewayClient(kind === 'tls' ? origin : found.stack.origin, found.customer.key, {
    protocol,
    ...(kind === 'tls' ? { ca: certificate.cert } : {}),
  });
}

const WAYS = (['plain', 'tls'] as const).flatMap((kind) =>
  (['http1', 'http2'] as const).map((protocol) => ({ kind, protocol })),
);

describe.each(WAYS)('$kind $protocol', ({ kind, protocol }) => {
  test('responds with JSON that has our id, the public model name and the cost', async () => {
    const client = open(kind, protocol);
    const received = await client.chat({ model: 'chat' });
    expect(received.status).toBe(200);
    expect(received.headers['content-type']).toBe('application/json');
    expect(received.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const body = jsonOf(received);
    expect(body).toMatchObject({
      id: received.headers['x-generation-id'],
      object: 'chat.completion',
      model: 'chat',
      choices: [{ message: { role: 'assistant', content: DEFAULT_TEXT }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, cost: 0.000015 },
      system_fingerprint: 'fp_fake',
    });
    client.close();
  });

  test('streams with our id and model, without a usage that was not requested', async () => {
    const client = open(kind, protocol);
    const received = await client.chat({ model: 'chat', stream: true });
    expect(received.headers['content-type']).toMatch(/^text\/event-stream/);
    const events = eventsOf(received);
    expect(events.pop()).toBe('[DONE]');
    const chunks = events.map((event) => JSON.parse(event) as { id: string; model: string; usage?: object });
    expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set([received.headers['x-generation-id']]));
    expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set(['chat']));
    expect(chunks.filter(({ usage }) => usage)).toEqual([]);
    client.close();
  });

  test('ends a stream with usage and cost when they are requested', async () => {
    const client = open(kind, protocol);
    const received = await client.chat({ model: 'chat', stream: true, stream_options: { include_usage: true } });
    const usage = eventsOf(received).at(-2) ?? '';
    expect(JSON.parse(usage)).toMatchObject({ choices: [], usage: { prompt_tokens: 10, cost: 0.000015 } });
    client.close();
  });
});

test('the provider receives its own model name, an output limit, our secret, and nothing about the customer', async () => {
  const client = open('plain', 'http1');
  await client.chat(
    { model: 'chat', stream: true, temperature: 0.5, user: 'u1' },
    { headers: { cookie: 'a=b', 'x-forwarded-for': '192.0.2.7', 'openai-organization': 'org-of-customer' } },
  );
  const seen = plainProvider.requests('upstream-name').at(-1);
  expect(seen?.path).toBe('/v1/chat/completions');
  expect(seen?.json).toEqual({
    model: 'upstream-name',
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
    temperature: 0.5,
    user: expect.stringMatching(/^[0-9a-f]{64}$/),
    max_tokens: 512,
    stream_options: { include_usage: true },
  });
  expect(seen?.headers.authorization).toBe(`Bearer ${PROVIDER_SECRET}`);
  expect(seen?.headers.host).toBe(`127.0.0.1:${plainProvider.port}`);
  const names = Object.keys(seen?.headers ?? {});
  const forbidden = /^(cookie|x-forwarded|x-gw|x-envoy|openai|forwarded|via|x-request-id)/;
  expect(names.filter((name) => forbidden.test(name))).toEqual([]);
});

test('a provider over TLS is called with its own name for the output limit', async () => {
  const client = open('plain', 'http1');
  const received = await client.chat({ model: 'secure', max_tokens: 7 });
  expect(received.status).toBe(200);
  const seen = tlsProvider.requests('secure').at(-1);
  expect(seen?.json).toMatchObject({ max_completion_tokens: 7 });
  expect(seen?.json).not.toHaveProperty('max_tokens');
  expect(seen?.httpVersion).toBe('2.0');
});

test('the first event reaches the client within 20 ms of the provider sending it, and each event separately', async () => {
  const client = open('plain', 'http1');
  const delays: number[] = [];
  const pieces: number[] = [];
  for (let round = 0; round < 15; round++) {
    const sentAtMs: number[] = [];
    plainProvider.script(
      'upstream-name',
      streamAnswer({ paceMs: 15, onEvent: () => void sentAtMs.push(performance.now()) }),
    );
    const received = await client.chat({ model: 'chat', stream: true });
    delays.push((received.pieces[0]?.atMs ?? Number.POSITIVE_INFINITY) - (sentAtMs[0] ?? 0));
    pieces.push(received.pieces.length);
  }
  // The median, because on a shared machine single rounds wait for the scheduler.
  const median = (values: number[]) => values.sort((a, b) => a - b)[7];
  expect(median(delays)).toBeLessThan(20);
  expect(median(pieces)).toBeGreaterThanOrEqual(5);
});

test('response headers do not reveal Envoy or the provider', async () => {
  const received = await open('plain', 'http1').chat({ model: 'chat' });
  const names = Object.keys(received.headers);
  expect(names.filter((name) => /^(x-envoy|x-gw|x-powered|server-timing)/.test(name))).toEqual([]);
});
