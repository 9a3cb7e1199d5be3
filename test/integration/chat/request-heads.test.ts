import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, jsonOf } from '../../harness/gateway-client.ts';
import {
  END_HEADERS,
  END_STREAM,
  type Field,
  FRAME,
  frame,
  headerBlock,
  openRawHttp2,
  type RawAnswer,
} from '../../harness/raw-http2.ts';
import { exchangeRaw } from '../../harness/transport-fixture.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { streamAnswer } from '../../provider/acts.ts';

/** The heads of requests, sent as raw bytes, and the headers that every response has. */
let key: string;
let client: GatewayClient;

const gateway = withGateway({
  config: { models: { plain: {}, streamed: {} } },
});

beforeAll(async () => {
  ({ key } = await gateway.stack.operator.customer());
  client = gatewayClient(gateway.stack.origin, key);
});

afterAll(async () => {
  client?.close();
});

const CODE = /"code":"(\w+)"/;
const BODY = '{"model":"plain","messages":[{"role":"user","content":"Hello"}]}';

/**
 * Tries again after a reset: Envoy responds and closes while bytes still arrive, so a reset may
 * reach the client before the response.
 */
async function answerTo(bytes: string | Buffer): Promise<string> {
  for (let left = 20; ; left--) {
    try {
      return await exchangeRaw(gateway.stack.apiPort, bytes);
    } catch (error) {
      if (left === 0 || !/ECONNRESET|EPIPE/.test(String(error))) throw error;
    }
  }
}

async function http1(head: string, body = ''): Promise<string> {
  const text = await answerTo(
    Buffer.from(`${head}authorization: Bearer ${key}\r\nconnection: close\r\n\r\n${body}`, 'latin1'),
  );
  return [text.slice(9, 12), CODE.exec(text)?.[1], /"param":"(\w+)"/.exec(text)?.[1]].filter(Boolean).join(' ');
}

/** Sends the headers on a new connection, in frames of the largest size. */
async function http2(fields: readonly Field[]): Promise<RawAnswer | undefined> {
  const connection = await openRawHttp2(gateway.stack.apiPort);
  const block = headerBlock(fields);
  const pieces = Math.ceil(block.length / 16_384);
  for (let piece = 0; piece < pieces; piece++) {
    const flags = (piece === 0 ? END_STREAM : 0) | (piece === pieces - 1 ? END_HEADERS : 0);
    const bytes = block.subarray(piece * 16_384, (piece + 1) * 16_384);
    connection.send(frame(piece === 0 ? FRAME.headers : FRAME.continuation, flags, 1, bytes));
  }
  const answer = await connection.ended(1);
  connection.socket.destroy();
  return answer;
}

function read(...more: readonly Field[]): Field[] {
  const isPseudo = ([name]: Field) => name.startsWith(':');
  return [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/v1/credits'],
    ...more.filter(isPseudo),
    ['authorization', `Bearer ${key}`],
    ...more.filter((field) => !isPseudo(field)),
  ];
}

const told = (answer: RawAnswer | undefined) =>
  answer?.end === 'clean' ? (CODE.exec(answer.body.toString())?.[1] ?? 'served') : answer?.end;

describe.concurrent('a request names one host', () => {
  const READ = 'GET /v1/credits HTTP/1.1\r\n';
  test.each<[string, string, string]>([
    ['one', 'host: a\r\n', '200'],
    ['one with a port', 'host: a:8080\r\n', '200'],
    ['two', 'host: a\r\nhost: b\r\n', '400 invalid_request host'],
    ['the same twice', 'host: a\r\nhost: a\r\n', '400 invalid_request host'],
    ['two with another header between them', 'Host: a\r\nx-a: b\r\nHOST: b\r\n', '400 invalid_request host'],
    ['three', 'host: a\r\nhost: a\r\nhost: a\r\n', '400 invalid_request host'],
    ['a list', 'host: a,b\r\n', '400 invalid_request host'],
    ['a list of one', 'host: a,\r\n', '400 invalid_request host'],
    ['none', '', '400 invalid_request'],
    ['an empty one', 'host:\r\n', '400 invalid_request host'],
    ['two empty ones', 'host:\r\nhost:\r\n', '400 invalid_request host'],
    [
      'two, and a header that says that it is HTTP/2',
      'host: a\r\nhost: a\r\nx-gw-protocol: HTTP/2\r\n',
      '400 invalid_request host',
    ],
  ])('HTTP/1.1: %s', async (_, hosts, expected) => {
    expect(await http1(READ + hosts)).toBe(expected);
  });

  test('HTTP/1.1: two, followed by a body', async () => {
    const before = gateway.provider.requests('plain').length;
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nhost: b\r\ncontent-length: ${BODY.length}\r\n`;
    expect(await http1(head, BODY)).toBe('400 invalid_request host');
    expect(gateway.provider.requests('plain')).toHaveLength(before);
  });

  test.each<[string, Field[], string]>([
    [':authority', [[':authority', 'a']], 'served'],
    ['host alone', [['host', 'a']], 'served'],
    [
      'both, alike',
      [
        [':authority', 'a'],
        ['host', 'a'],
      ],
      'served',
    ],
    [
      'both, and they differ',
      [
        [':authority', 'a'],
        ['host', 'b'],
      ],
      'invalid_request',
    ],
    [
      'a list that is alike',
      [
        [':authority', 'a,a'],
        ['host', 'a,a'],
      ],
      'invalid_request',
    ],
    ['a list', [[':authority', 'a,b']], 'invalid_request'],
    [
      'two of host',
      [
        ['host', 'a'],
        ['host', 'a'],
      ],
      'reset',
    ],
    ['neither', [], 'reset'],
    ['an empty one', [[':authority', '']], 'reset'],
  ])('HTTP/2: %s', async (_, hosts, expected) => {
    expect(told(await http2(read(...hosts)))).toBe(expected);
  });

  test('HTTP/2: a stream is served if both are equal', async () => {
    gateway.provider.script('streamed', streamAnswer());
    const two = gatewayClient(gateway.stack.origin, key, { protocol: 'http2' });
    const received = await two.chat(
      { model: 'streamed', stream: true },
      { headers: { host: new URL(gateway.stack.origin).host } },
    );
    two.close();
    expect(received.text).toContain('data: [DONE]');
  });
});

describe.concurrent('header lists over the limit of 16 KiB and 100 headers', () => {
  const many = (count: number, bytes: number): Field[] =>
    Array.from({ length: count }, (_, i) => [`x-${i}`, 'v'.repeat(bytes)]);

  test.each<[string, Field[], string]>([
    // The header with the key is one more.
    ['100 headers', many(99, 20), 'served'],
    ['101 headers', many(100, 20), 'request_too_large'],
    ['200 headers', many(200, 20), 'request_too_large'],
    ['900 headers', many(900, 20), 'request_too_large'],
    ['15 KiB', many(3, 5 * 1024), 'served'],
    ['18 KiB', many(3, 6 * 1024), 'request_too_large'],
    ['23 KiB', many(3, 7.5 * 1024), 'request_too_large'],
    // Envoy accepts no more and has no response for it (docs/interface.md, "Errors").
    ['30 KiB', many(3, 10 * 1024), 'reset'],
    ['120 KiB', many(8, 15 * 1024), 'reset'],
    ['1,100 headers', many(1100, 20), 'reset'],
  ])('HTTP/2: %s', async (_, headers, expected) => {
    expect(told(await http2(read([':authority', 'a'], ...headers)))).toBe(expected);
  });

  test.each([
    ['100 headers beside host', many(99, 20), '200'],
    ['101 headers beside host', many(100, 20), '413 request_too_large'],
    ['1,100 headers', many(1100, 20), '413 request_too_large'],
    ['120 KiB', many(8, 15 * 1024), '413 request_too_large'],
  ])('HTTP/1.1: %s', async (_, headers, expected) => {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    expect(await http1(`GET /v1/credits HTTP/1.1\r\nhost: a\r\n${lines}`)).toBe(expected);
  });
});

test('a method of 12 KB is cut in the log', async () => {
  const method = 'M'.repeat(12_000);
  const fields = read([':authority', 'a']).map(
    (field): Field => (field[0] === ':method' ? [':method', method] : field),
  );
  expect(told(await http2(fields))).toBe('route_not_found');
  await expect.poll(() => gateway.stack.logs()).toContain('MMMM');
  expect(gateway.stack.logs()).not.toContain('M'.repeat(33));
});

test.each(['http1', 'http2'] as const)('every response has `no-store` and `nosniff`: %s', async (protocol) => {
  const own = gatewayClient(gateway.stack.origin, key, { protocol });
  const nobody = gatewayClient(gateway.stack.origin, 'sk-gw-nobody', { protocol });
  const chat = { model: 'plain' };
  const once = { headers: { 'idempotency-key': `once-${protocol}` } };
  gateway.provider.script('streamed', streamAnswer());
  const answers = [
    await own.get('/v1/models'),
    await own.get('/v1/credits'),
    await own.chat(chat, once),
    await own.chat(chat, once),
    await own.chat({ model: 'streamed', stream: true }, { headers: { 'idempotency-key': `stream-${protocol}` } }),
    await own.chat({ model: 'streamed', stream: true }, { headers: { 'idempotency-key': `stream-${protocol}` } }),
    await own.chat({ model: 'unknown' }),
    await own.get('/v1/nothing'),
    await nobody.get('/v1/models'),
  ];
  own.close();
  nobody.close();
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 404, 404, 401]);
  for (const { headers } of answers) {
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  }
});

test.each([
  ['malformed', 'GET /v1/credits HTTP/1.1\r\nhost: a, b\r\n\r\n', 400],
  ['headers beyond what Envoy reads', `GET /v1/credits HTTP/1.1\r\nhost: a\r\nx: ${'v'.repeat(200_000)}\r\n\r\n`, 413],
  ['HTTP/1.0', 'GET /v1/credits HTTP/1.0\r\nhost: a\r\n\r\n', 400],
])('so does a response that Envoy makes: %s', async (_, bytes, status) => {
  const text = await answerTo(bytes);
  expect(text).toMatch(new RegExp(`^HTTP/1\\.[01] ${status} `));
  expect(text).toMatch(/\r\ncache-control: no-store\r\n/);
  expect(text).toMatch(/\r\nx-content-type-options: nosniff\r\n/);
});

const SPEAKS_CHAT = 'This gateway speaks chat completions: POST /v1/chat/completions.';

test.each([
  [
    '/v1/responses',
    `${SPEAKS_CHAT} Use openai.chat(model) in the AI SDK, useResponsesApi: false (Python: ` +
      'use_responses_api=False) in LangChain, OpenAIChatCompletionsModel in the OpenAI Agents SDK.',
  ],
  ...['/v1/messages', '/v1/messages/count_tokens'].map((path) => [
    path,
    `${SPEAKS_CHAT} Use a client of the OpenAI API instead of one of the Anthropic API, with the same ` +
      'base URL and model.',
  ]),
  [
    '/v1/embeddings',
    'This gateway has no embeddings, only chat completions: POST /v1/chat/completions. Use another base ' +
      'URL for the embedding model.',
  ],
])('without `apis`, %s gets the 404 of an unknown path, byte for byte', async (path, hint) => {
  const received = await client.send({ path, body: BODY, headers: { 'content-type': 'application/json' } });
  const message = `There is no POST ${path}. ${hint}`;
  const error = { message, type: 'not_found_error', code: 'route_not_found', metadata: {} };
  expect([received.status, received.text]).toEqual([404, JSON.stringify({ error })]);
  const unknown = await client.send({ path: '/v1/nothing', body: BODY });
  expect(Object.keys(received.headers).sort()).toEqual(Object.keys(unknown.headers).sort());
  const stranger = await client.send({ path, body: BODY, headers: { authorization: 'Bearer none' } });
  expect([stranger.status, stranger.text]).toEqual([404, received.text]);
});

test('without `apis`, no model has a list of endpoints', async () => {
  for (const model of jsonOf<{ data: object[] }>(await client.get('/v1/models')).data)
    expect(model).not.toHaveProperty('supported_endpoints');
});
