import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { balanceOf, type GatewayClient, gatewayClient, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import {
  head,
  type RawAct,
  type RawProvider,
  startRawProvider,
  thenFin,
  thenForEver,
  thenReset,
  thenSilence,
} from '../provider/raw-provider.ts';

/**
 * Providers with invalid responses. Clients get either an error that costs nothing or a stream that
 * ends properly.
 */
let provider: RawProvider;
let stack: Stack;
let client: GatewayClient;

const TIMEOUTS = { first_byte: '4s', stream_idle: '4s', total: '8s' };
const MIB = 1024 * 1024;

beforeAll(async () => {
  provider = await startRawProvider();
  stack = await startStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      providers: { raw: { base_url: provider.baseUrl } },
      // Only output tokens cost something.
      models: { raw: { usd_per_million_tokens: { input: 0, output: 1 } } },
      timeouts: TIMEOUTS,
      limits: { response_body: '9MiB' },
      retries: { per_target: 0 },
    },
  });
  client = gatewayClient(stack.origin, (await stack.operator.customer()).key);
});

afterAll(async () => {
  client?.close();
  await stack?.close();
  await provider?.close();
});

showLogsOnFailure(() => stack);

const SSE = head('text/event-stream');
const JSON_HEAD = head('application/json');
const contentOf = (text: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
const HELLO = contentOf('Hello');
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const completion = (content: string): string =>
  `{"choices":[{"index":0,"message":{"role":"assistant","content":${content}},"finish_reason":"stop"}]}`;

async function ask(name: string, act: RawAct, stream: boolean): Promise<Received> {
  provider.script(name, act);
  return client.chat({ model: 'raw', stream, messages: [{ role: 'user', content: name }] });
}

const FAILED = '503 upstream_error';
const LATE = '408 request_timeout';

type Case = readonly [name: string, act: RawAct];

/** Cases for requests of any kind. */
const NEVER_AN_ANSWER: readonly Case[] = [
  ['no byte', thenSilence('')],
  ['half a head', thenSilence('HTTP/1.1 200 OK\r\ncontent-ty')],
  ['a head and no body', thenSilence(head('application/json', { 'content-length': '100' }))],
  ['an endless body, byte by byte', thenForEver(JSON_HEAD, ' ', 20)],
  ['an endless head, byte by byte', thenForEver('HTTP/1.1 200 OK\r\nx: ', 'a', 20)],
  ['endless 1xx responses', thenForEver('', 'HTTP/1.1 100 Continue\r\n\r\n', 1)],
  ['1xx responses as fast as they are read', thenForEver('', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(100))],
];

const NO_ANSWER: readonly Case[] = [
  ['101', thenFin('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello')],
  ['another protocol', thenFin('SSH-2.0-OpenSSH_9.2\r\n')],
  ['HTTP/0.9', thenFin('<html>hello</html>')],
  ['bytes', thenFin(Buffer.from([0, 255, 254, 13, 10, 13, 10, 0, 1, 2]))],
  ['TLS', thenFin(Buffer.from('1503010002020a', 'hex'))],
  ['a header of a megabyte', thenFin(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(MIB)}\r\n\r\n`)],
  ['ten thousand headers', thenFin(`HTTP/1.1 200 OK\r\n${'x: a\r\n'.repeat(10_000)}\r\n`)],
  ['a NUL in a header', thenFin('HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n')],
  ['two lengths', thenFin('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}')],
  ['an invalid length', thenFin('HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}')],
  ['invalid chunks', thenFin(`${head('application/json', { 'transfer-encoding': 'chunked' })}zz\r\n{}\r\n`)],
  ['status 999', thenFin('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n')],
  ['status 0', thenFin('HTTP/1.1 000 What\r\ncontent-length: 0\r\n\r\n')],
  ['a redirect', thenFin('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n')],
  ['204', thenFin('HTTP/1.1 204 No Content\r\n\r\n')],
  ['unrequested gzip', thenFin(Buffer.concat([gzipHead(), gzipSync(completion('"hi"'))]))],
  ['undeclared gzip', thenFin(Buffer.concat([Buffer.from(JSON_HEAD), gzipSync(completion('"hi"'))]))],
  ['HTML', thenFin(`${head('text/html')}<html>It works!</html>`)],
  ['an empty body', thenFin(JSON_HEAD)],
  ['brackets without end', thenFin(JSON_HEAD + '['.repeat(MIB))],
  ['a response above the permitted size', thenForEver(JSON_HEAD, 'x'.repeat(MIB))],
];

function gzipHead(): Buffer {
  return Buffer.from(head('application/json', { 'content-encoding': 'gzip' }));
}

/**
 * Number of output tokens, at 1,000 nano-dollars each, that `play` was charged once nothing is
 * held.
 */
async function tokensCharged(play: () => Promise<void>): Promise<number> {
  const before = await balanceOf(client);
  await play();
  await untilNothingHeld(client);
  return Math.round((before - (await balanceOf(client))) * 1e6);
}

describe.each([false, true])('stream: %s', (stream) => {
  test.each(NO_ANSWER)(`%s is ${FAILED}, and costs nothing`, async (name, act) => {
    const play = async (): Promise<void> => {
      expect(outcome(await ask(`${name} ${stream}`, act, stream))).toBe(FAILED);
    };
    expect(await tokensCharged(play)).toBe(0);
  });
});

const WRONG_JSON: readonly string[] = [
  'null',
  '17',
  '"text"',
  '[]',
  '{}',
  '{"choices":null}',
  '{"choices":{}}',
  '{"choices":[]}',
  '{"choices":[{}]',
  completion('"a\0b"'),
  `${completion('"a"')}x`,
  `\ufeff\ufeff${completion('"a"')}`,
];

test.each(WRONG_JSON)('JSON that is no completion is an error: %j', async (body) => {
  const play = async (): Promise<void> => {
    expect(outcome(await ask('wrong JSON', thenFin(JSON_HEAD + body), false))).toBe(FAILED);
  };
  expect(await tokensCharged(play)).toBe(0);
});

/** Unusual JSON that is passed on unchanged. */
const STRANGE_JSON: readonly string[] = [
  completion('"\\u0000"'),
  completion('"\\ud800 alone"'),
  completion('null'),
  completion('{"an":"object"}'),
  `{"id":{},"model":5,"object":[],"created":"x","__proto__":{"a":1},"choices":[null,7,{"index":"x","message":null}]}`,
  `{"choices":[{"finish_reason":"a\\u0000b","message":{"content":"x"}}],"id":"a\\u0000b"}`,
  `{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1e308,"completion_tokens":-1}}`,
  `{"choices":[{"message":{"content":"x"}}],"choices":[{"message":{"content":"y"}}],"usage":"many"}`,
];

test.each(STRANGE_JSON)('an unusual completion is passed on: %j', async (body) => {
  const received = await ask('strange JSON', thenFin(JSON_HEAD + body), false);
  expect(outcome(received)).toBe('200');
  expect(JSON.parse(received.text)).toMatchObject({ model: 'raw', id: received.headers['x-generation-id'] });
});

const STUCK: readonly Case[] = [
  ['silence', thenSilence(SSE + HELLO)],
  ['endless single bytes', thenForEver(SSE + HELLO, 'x', 20)],
  ['endless comments', thenForEver(SSE + HELLO, ': still here\n\n', 20)],
];

const SPOILED: readonly Case[] = [
  ['one endless event', thenForEver(`${SSE}${HELLO}data: `, 'x'.repeat(MIB))],
  ['one endless event of many lines', thenForEver(SSE + HELLO, `data: ${'x'.repeat(90)}\n`.repeat(10_000))],
  ['endless events', thenForEver(SSE + HELLO, contentOf(' word'.repeat(20_000)))],
  ['a NUL', thenFin(`${SSE}${HELLO}data: {"choices":[{"delta":{"content":"a\0"}}]}\n\n${END}`)],
  ['an array', thenFin(`${SSE}${HELLO}data: []\n\n${END}`)],
  ['a number', thenFin(`${SSE}${HELLO}data: 1\n\n${END}`)],
  ['HTML', thenFin(`${SSE}${HELLO}<html>It broke.</html>`)],
  ['JSON without data:', thenFin(`${SSE}${HELLO}{"choices":[]}\n\n`)],
  ['brackets without end', thenFin(`${SSE}${HELLO}data: ${'['.repeat(MIB)}\n\n`)],
  ['a length that is too small', thenReset(`${sized(HELLO.length)}${HELLO}${END}`)],
  ['a length that is too large', thenFin(`${sized(1000)}${HELLO}`)],
  ['gzip', thenFin(Buffer.concat([Buffer.from(SSE + HELLO), gzipSync(END)]))],
];

function sized(length: number): string {
  return head('text/event-stream', { 'content-length': String(length) });
}

/** Expects the earlier events, then a final event with the code, `[DONE]` and a clean end. */
function expectBrokenOff(received: Received, code: string): void {
  expect(received.status).toBe(200);
  const events = received.text.split('\n\n');
  expect(events.splice(-2)).toEqual(['data: [DONE]', '']);
  expect(JSON.parse(events.at(-1)?.slice(6) ?? '')).toMatchObject({
    error: { code },
    choices: [{ delta: { role: 'error' }, finish_reason: 'error' }],
  });
  expect(received.text).toContain('"content":"Hello"');
  expect(received.text.match(/"finish_reason":"error"/g)).toHaveLength(1);
}

test('endless responses are cut in time: without content they cost nothing, and of a stream what arrived is charged', async () => {
  const unanswered = [false, true].map(async (stream) => {
    const asked = NEVER_AN_ANSWER.map(([name, act]) => ask(`${name} ${stream}`, act, stream));
    expect((await Promise.all(asked)).map(outcome)).toEqual(NEVER_AN_ANSWER.map(() => LATE));
  });
  const stuck = STUCK.map(([name, act]) => ask(`then ${name}`, act, true));
  const play = async (): Promise<void> => {
    for (const received of await Promise.all(stuck)) expectBrokenOff(received, 'request_timeout');
  };
  const all = (): Promise<void> => Promise.all([...unanswered, play()]).then(() => undefined);
  expect(await tokensCharged(all)).toBe(STUCK.length);
});

test.each(SPOILED)(
  'a stream that continues with %s ends with upstream_error, and what arrived is charged',
  async (name, act) => {
    const play = async (): Promise<void> => expectBrokenOff(await ask(`then ${name}`, act, true), 'upstream_error');
    // "Hello" is one token. Some cases deliver more.
    expect(await tokensCharged(play)).toBeGreaterThanOrEqual(1);
  },
);

const STRANGE_EVENTS: readonly string[] = [
  contentOf('\ud800 alone'),
  contentOf('\0'),
  'data: {"choices":null}\n\n',
  'data: {"choices":[]}\n\n',
  'data: {"choices":[null,5,{"index":"x","delta":null}]}\n\n',
  'data: {"choices":[{"index":0,"delta":{"content":{"an":"object"}}}]}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":1e308}}\n\n',
  'data: {"__proto__":{"choices":1},"choices":[],"id":{},"model":[]}\n\n',
  'data: {"type":"ping"}\n\n',
  'event: ping\n\n',
  'id: 1\nretry: 0\n\n\n\n\n',
];

test.each(STRANGE_EVENTS)('an unusual event disturbs nothing: %j', async (event) => {
  const received = await ask('strange event', thenFin(`${SSE}${HELLO}${event}${HELLO}${END}`), true);
  expect(received.status).toBe(200);
  expect(received.text).not.toContain('"error"');
  expect(received.text.match(/"content":"Hello"/g)).toHaveLength(2);
  expect(received.text.endsWith('data: [DONE]\n\n')).toBe(true);
  for (const one of received.text.split('\n\n').slice(0, -2)) JSON.parse(one.replace(/^data: /, ''));
});

test('afterwards nothing is held, the ledger agrees, no error was logged, and memory is bounded', async () => {
  await untilNothingHeld(client);
  await stack.operator.verifyLedger();
  expect(stack.logs()).not.toMatch(/"level":"(error|fatal)"|unhandled/i);
  expect(residentBytes(stack.gateway.pid)).toBeLessThan(700 * MIB);
  expect(residentBytes(stack.envoy.pid)).toBeLessThan(200 * MIB);
});
