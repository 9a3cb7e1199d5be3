import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import {
  END_HEADERS,
  END_STREAM,
  type Field,
  FRAME,
  frame,
  headerBlock,
  openRawHttp2,
  setting,
} from '../harness/raw-http2.ts';
import { loadJob } from '../load/checks.ts';
import { type SteadyTraffic, startSteadyTraffic } from '../load/steady-traffic.ts';
import { type HostileStack, startHostileStack } from './hostile-stack.ts';

/**
 * Clients that send too slowly or flood the gateway with frames, all concurrently and beside
 * ordinary traffic.
 */
let hostile: HostileStack;
let traffic: SteadyTraffic;
let envoyBytes: number;
let allocatedBytes: number;

beforeAll(async () => {
  hostile = await startHostileStack({
    postgresSocketDir: inject('postgresSocketDir'),
    // Production's bootstrap, except for a time-out that would take two minutes.
    editEnvoy: (yaml) => yaml.replaceAll(/flush_timeout: \d+s/g, 'flush_timeout: 5s'),
    timeouts: { first_byte: '5s', stream_idle: '5s', total: '8s' },
  });
  envoyBytes = residentBytes(hostile.envoy().pid);
  allocatedBytes = await hostile.envoyAllocatedBytes();
  traffic = startSteadyTraffic([{ ...loadJob(hostile.others, 'json', NO_SIZE), concurrency: 2 }]);
});
afterAll(() => hostile?.close());
showLogsOnFailure(() => hostile);

/** Steady traffic ignores both. */
const NO_SIZE = { concurrency: 0, requests: 0 };
const CLIENTS = process.env.CI === 'true' ? 200 : 50;
const BROKEN = 3_000;
const DRIP_MS = 500;
/**
 * The longest time-out here is twice `total` plus five seconds, 21 s. The rest is for a busy
 * machine.
 */
const CLOSED_WITHIN_MS = 45_000;
const MIB = 1024 * 1024;
/**
 * More than the kernel buffers until the sender notices the cut. A flood that is not cut would
 * exceed it.
 */
const FLOOD_BYTES = 64 * MIB;

/**
 * Sends `head` at once and then byte by byte. Resolves with the received text when the gateway
 * closes the connection.
 */
async function drip(head: string): Promise<string> {
  const socket = await open();
  let text = '';
  socket.on('data', (piece) => {
    text += piece;
  });
  socket.write(head);
  const timer = setInterval(() => socket.write('a'), DRIP_MS);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(timer);
  return text;
}

async function open(): Promise<Socket> {
  const socket = connect(hostile.stack.apiPort, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const many = <T>(one: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: CLIENTS }, one));

const fields = (key: string, path = '/v1/chat/completions', method = 'POST'): Field[] => [
  [':method', method],
  [':scheme', 'http'],
  [':path', path],
  [':authority', 'gateway'],
  ['authorization', `Bearer ${key}`],
];
const body = (model: string): Buffer =>
  Buffer.from(
    JSON.stringify({ model, stream: model.endsWith('stream'), messages: [{ role: 'user', content: 'Hello' }] }),
  );
const SETTING_INITIAL_WINDOW = 4;

describe.concurrent('clients slower than any honest one', { timeout: CLOSED_WITHIN_MS }, () => {
  test('headers byte by byte get a 408 and the connection is closed', async () => {
    for (const text of await many(() => drip('GET /v1/models HTTP/1.1\r\nhost: a\r\nx-a: ')))
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a body byte by byte gets a 408, the connection is closed, and nothing is held', async () => {
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${hostile.attacker.key}\r\ncontent-length: 1000\r\n\r\n{`;
    for (const text of await many(() => drip(head)))
      expect(text).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
  });

  test('a body byte by byte without a key gets a 401 at once', async () => {
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{';
    for (const text of await many(() => drip(head))) expect(text).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('an endless HTTP/2 header block gets a 408', async () => {
    await many(async () => {
      const connection = await openRawHttp2(hostile.stack.apiPort);
      connection.send(frame(FRAME.headers, END_STREAM, 1, headerBlock(fields(hostile.attacker.key))));
      const answer = await connection.ended(1);
      connection.socket.destroy();
      expect(answer?.body.toString()).toContain('"code":"request_timeout"');
    });
  });

  test.each(['json', 'paced-stream', 'big-stream'])(
    'an HTTP/2 stream without a window is reset (%s)',
    async (model) => {
      const answers = await many(async () => {
        const connection = await openRawHttp2(hostile.stack.apiPort, { settings: setting(SETTING_INITIAL_WINDOW, 0) });
        connection.send(
          frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields(hostile.attacker.key))),
          frame(FRAME.data, END_STREAM, 1, body(model)),
        );
        const answer = await connection.ended(1);
        connection.socket.destroy();
        return answer;
      });
      for (const answer of answers) expect([answer?.end, answer?.body.length]).toEqual(['reset', 0]);
    },
  );
});

describe('floods of frames', { timeout: CLOSED_WITHIN_MS }, () => {
  const ping = frame(FRAME.ping, 0, 0, Buffer.alloc(8));
  const PRIORITY = 2;
  const priority = frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 1]));
  const update = frame(FRAME.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1]));
  const opened = () => frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields(hostile.attacker.key)));

  /** Repeats frames until the gateway closes the connection. Resolves with the bytes sent. */
  async function flood(first: Buffer, again: (round: number) => Buffer, isReading: boolean): Promise<number> {
    const connection = await openRawHttp2(hostile.stack.apiPort);
    connection.send(first);
    if (!isReading) connection.socket.pause();
    let sentBytes = 0;
    for (let round = 0; !connection.socket.destroyed && !connection.dismissed(); round += 1) {
      const bytes = again(round);
      sentBytes += bytes.length;
      if (!connection.socket.write(bytes))
        await Promise.race([once(connection.socket, 'drain').catch(() => undefined), connection.closed]);
      // Lets responses be read in between.
      await sleep(1);
    }
    connection.socket.destroy();
    return sentBytes;
  }
  const repeat = (one: Buffer, times: number): Buffer => Buffer.concat(Array.from({ length: times }, () => one));

  test.each<[string, () => Buffer, (round: number) => Buffer, boolean]>([
    ['PING, answers unread', () => Buffer.alloc(0), () => repeat(ping, 5_000), false],
    ['SETTINGS, answers unread', () => Buffer.alloc(0), () => repeat(frame(FRAME.settings, 0, 0), 5_000), false],
    ['PRIORITY', () => opened(), () => repeat(priority, 500), true],
    ['WINDOW_UPDATE', () => opened(), () => repeat(update, 500), true],
    ['empty DATA', () => opened(), () => repeat(frame(FRAME.data, 0, 1), 10), true],
    [
      'CONTINUATION without an end',
      () => frame(FRAME.headers, 0, 1, headerBlock(fields(hostile.attacker.key))),
      () => frame(FRAME.continuation, 0, 1, headerBlock([['x-a', 'a'.repeat(16_000)]])),
      true,
    ],
    [
      'rapid reset',
      () => Buffer.alloc(0),
      (round) =>
        Buffer.concat(
          Array.from({ length: 50 }, (_, index) => {
            const id = (round * 50 + index) * 2 + 1;
            return Buffer.concat([
              frame(FRAME.headers, END_HEADERS, id, headerBlock(fields(hostile.attacker.key))),
              frame(FRAME.data, END_STREAM, id, body('json')),
              frame(FRAME.reset, 0, id, Buffer.from([0, 0, 0, 8])),
            ]);
          }),
        ),
      true,
    ],
  ])('%s: the connection is closed before much was sent', async (_, first, again, isReading) => {
    expect(await flood(first(), again, isReading)).toBeLessThan(FLOOD_BYTES);
  });
});

describe("floods that must not reach Envoy's bounds on frames towards the process, which would end all requests", {
  timeout: CLOSED_WITHIN_MS,
}, () => {
  const lostUnderRequests = () => hostile.stat('cluster.gateway.upstream_cx_destroy_with_active_rq');

  test('a body in frames of one byte is served', async () => {
    const connection = await openRawHttp2(hostile.stack.apiPort);
    // As many bytes as the initial window of a stream permits, in one write.
    const bytes = Array.from({ length: 60_000 }, () => frame(FRAME.data, 0, 1, Buffer.of(0x20)));
    connection.send(frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields(hostile.attacker.key))), ...bytes);
    connection.send(frame(FRAME.data, END_STREAM, 1, body('json')));
    const answer = await connection.ended(1);
    connection.socket.destroy();
    expect(answer?.body.toString()).toContain('"chat.completion"');
    expect(await lostUnderRequests()).toBe(0);
  });

  test('thousands of clients that disconnect at once do not affect others', async () => {
    const connections = await Promise.all(Array.from({ length: 27 }, () => openRawHttp2(hostile.stack.apiPort)));
    const requests = Array.from({ length: 100 }, (_, index) =>
      frame(FRAME.headers, END_HEADERS, 2 * index + 1, headerBlock(fields(hostile.attacker.key))),
    );
    for (const connection of connections) connection.send(...requests);
    const inFlight = () => hostile.stat('cluster.gateway.upstream_rq_active');
    await expect.poll(inFlight).toBeGreaterThanOrEqual(connections.length * requests.length);
    for (const connection of connections) connection.socket.destroy();
    await expect.poll(inFlight).toBeLessThan(requests.length);
    expect(await lostUnderRequests()).toBe(0);
  });
});

test("thousands of broken requests get responses, and Envoy's log keeps within its rate", {
  timeout: CLOSED_WITHIN_MS,
}, async () => {
  const name = (which: string): string => `access_log.process_ratelimit.${which}`;
  const counts = () => Promise.all([hostile.stat(name('allowed')), hostile.stat(name('denied'))]);
  const before = await counts();
  const startedMs = performance.now();
  const broken = async (): Promise<void> => {
    const socket = await open();
    socket.write('BLAH\r\n\r\n');
    const [answer] = await once(socket, 'data');
    socket.destroy();
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  };
  for (let sent = 0; sent < BROKEN; sent += 50) await Promise.all(Array.from({ length: 50 }, broken));
  const since = async () => {
    const [allowed = Number.NaN, denied = Number.NaN] = await counts();
    return { logged: allowed - before[0], all: allowed - before[0] + denied - before[1] };
  };
  // A connection is counted only when it has ended, after its response.
  await expect.poll(async () => (await since()).all).toBeGreaterThanOrEqual(BROKEN);
  const { logged } = await since();
  // A burst of 500, then 50 a second.
  expect(logged).toBeLessThanOrEqual(500 + 50 * Math.ceil((performance.now() - startedMs) / 1000 + 1));
});

test('no other client was affected, nothing is left over, and the ledger agrees', {
  timeout: CLOSED_WITHIN_MS,
}, async () => {
  const report = await traffic.stop();
  expect(report.faults).toEqual({});
  expect(report.good).toBeGreaterThan(50);
  expect(report.latencyMs.p50).toBeLessThan(500);
  await hostile.untilQuiet();
  const client = gatewayClient(hostile.stack.origin, hostile.attacker.key);
  await untilNothingHeld(client);
  client.close();
  expect((await hostile.envoyAllocatedBytes()) - allocatedBytes).toBeLessThan(24 * MIB);
  expect(residentBytes(hostile.envoy().pid) - envoyBytes).toBeLessThan(400 * MIB);
  await hostile.stack.operator.verifyLedger();
});
