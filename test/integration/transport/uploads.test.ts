import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askAdmin } from '#ext-proc/envoy-config/envoy-admin.ts';
import type { BodyResult } from '#ext-proc/transport/exchange.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { type HttpClient, httpClient, type Protocol } from '../../harness/http-client.ts';
import { opened } from '../../harness/opened.ts';
import { BOUNDS, echo, eventually, exchangeRaw, json, MIB, startFixture } from '../../harness/transport-fixture.ts';

const BUDGET_BYTES = 64 * MIB;
const gateway = opened(() => startFixture({ bodyBudgetBytes: BUDGET_BYTES }));

beforeEach(() => {
  gateway.handler = echo;
});
showLogsOnFailure(() => gateway);

describe.each<Protocol>(['http1', 'http2'])('over %s', (protocol) => {
  let client: HttpClient;
  beforeAll(() => {
    client = httpClient(gateway.origin, protocol);
  });
  afterAll(() => client.close());

  test('20 MiB arrive unchanged', async () => {
    const body = Buffer.alloc(20 * MIB);
    for (let at = 0; at < body.length; at += 4) body.writeUInt32LE(at, at);
    let same = false;
    gateway.handler = async (exchange) => {
      const result = await exchange.readBody(BOUNDS);
      same = result.kind === 'complete' && result.bytes.equals(body);
      await exchange.respond(json(200, {}));
    };
    expect((await client.send({ path: '/up', body })).status).toBe(200);
    expect(same).toBe(true);
  });

  test('an upload above the limit by content-length is refused without reading it', async () => {
    const started = performance.now();
    // The client may see its upload cut instead of the 413, so either result is accepted.
    const answer = await client
      .send({ path: '/up', body: Buffer.alloc(BOUNDS.limitBytes + 1) })
      .catch((error) => error);
    if (!(answer instanceof Error)) expect(answer.text).toBe('{"kind":"too_large"}');
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

const HEAD = 'POST /up HTTP/1.1\r\nhost: a\r\n';

test('an upload above the limit by content-length gets its response before any of the body', async () => {
  const text = await exchangeRaw(gateway.port, `${HEAD}content-length: ${BOUNDS.limitBytes + 1}\r\n\r\n`, /too_large/);
  expect(text).toContain('{"kind":"too_large"}');
});

test('an upload above the limit without content-length gets its response during the upload', async () => {
  const socket = connect(gateway.port, '127.0.0.1');
  const sent = endlessUpload(socket, 1);
  const text = await received(socket, /too_large/);
  expect(text).toContain('{"kind":"too_large"}');
  // The limit, and bytes in buffers of sockets and Envoy.
  expect(sent()).toBeLessThan(BOUNDS.limitBytes + 16 * MIB);
});

test('an upload that stalls, and one that never ends, run into their deadlines', async () => {
  const results: BodyResult[] = [];
  gateway.handler = async (exchange) => {
    const bounds = exchange.path === '/stall' ? { ...BOUNDS, stallMs: 100 } : { ...BOUNDS, stallMs: 300, totalMs: 600 };
    const result = await exchange.readBody(bounds);
    results.push(result);
    await exchange.respond(json(408, { kind: result.kind }));
  };
  const stalled = await exchangeRaw(
    gateway.port,
    'POST /stall HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n12345',
    /timeout"\}/,
  );
  expect(stalled).toContain('{"kind":"timeout"}');
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write('POST /drip HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  const drip = setInterval(() => socket.write('1\r\nx\r\n'), 50);
  const text = await received(socket, /timeout"\}/);
  clearInterval(drip);
  expect(text).toContain('{"kind":"timeout"}');
  expect(results.map(({ kind }) => kind)).toEqual(['timeout', 'timeout']);
});

test('an upload that the handler does not read stays at the client', async () => {
  let read: (() => void) | undefined;
  gateway.handler = async (exchange) => {
    await new Promise<void>((resolve) => {
      read = resolve;
    });
    const result = await exchange.readBody(BOUNDS);
    await exchange.respond(json(200, { kind: result.kind }));
  };
  const socket = connect(gateway.port, '127.0.0.1');
  const sent = endlessUpload(socket, 1);
  await eventually(() => read !== undefined, 'the request arrives');
  for (let before = -1; before !== sent(); await sleep(500)) {
    before = sent();
    // The windows and buffers of process, Envoy and sockets on the loopback.
    expect(before).toBeLessThan(12 * MIB);
  }
  read?.();
  expect(await received(socket, /too_large/)).toContain('{"kind":"too_large"}');
});

test('of uploads that are not read yet, Envoy buffers a little and the process less', async () => {
  const UPLOADS = 50;
  const KIB = 1024;
  // Tries again, because Envoy on a busy machine may not respond the first time.
  const figure = async (path: string, pattern: RegExp): Promise<number> => {
    for (;;) {
      const found = pattern.exec((await askAdmin(gateway.paths.envoyAdminSocket, path)) ?? '')?.[1];
      if (found !== undefined) return Number(found);
      await sleep(20);
    }
  };
  const inEnvoy = () => figure('/memory', /"allocated": "(\d+)"/);
  const sentToProcess = () => figure('/stats?filter=^cluster.gateway.upstream_cx_tx_bytes_total$', /: (\d+)/);
  const released = Promise.withResolvers<void>();
  let waiting = 0;
  gateway.handler = async (exchange) => {
    waiting++;
    await released.promise;
    await exchange.respond(json(401, { kind: 'nobody' }));
  };
  // Bytes of the former test may still be in transit.
  for (let last = -1, now = await sentToProcess(); now !== last; now = await sentToProcess()) {
    last = now;
    await sleep(300);
  }
  const before = { inEnvoy: await inEnvoy(), sentToProcess: await sentToProcess() };
  const sockets = Array.from({ length: UPLOADS }, () => connect(gateway.port, '127.0.0.1'));
  const uploads = sockets.map((socket) => endlessUpload(socket, 1));
  try {
    await eventually(() => waiting === UPLOADS && uploads.every((sent) => sent() > 0), 'all uploads begin');
    await sleep(1_000);
    expect((await sentToProcess()) - before.sentToProcess).toBeLessThan(UPLOADS * 96 * KIB);
    expect((await inEnvoy()) - before.inEnvoy).toBeLessThan(UPLOADS * 512 * KIB);
  } finally {
    released.resolve();
    for (const socket of sockets) socket.destroy();
  }
});

test('bodies of one organization use at most half of the budget; further ones are refused, and those of others are read', async () => {
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const kinds: string[] = [];
  gateway.handler = async (exchange) => {
    const organizationId = exchange.path;
    const result = await exchange.readBody({ ...BOUNDS, organizationId });
    kinds.push(`${organizationId} ${result.kind}`);
    if (result.kind === 'complete') await released;
    await exchange.respond(json(result.kind === 'complete' ? 200 : 503, { kind: result.kind }));
  };
  const client = httpClient(gateway.origin);
  const body = Buffer.alloc(15 * MIB);
  const answers = Array.from({ length: 6 }, () => client.send({ path: '/b', body }).catch((error: Error) => error));
  await eventually(() => kinds.length === 6, 'all are decided');
  for (const path of ['/c', '/d']) answers.push(client.send({ path, body }));
  await eventually(() => kinds.length === 8, 'those of others are decided');
  release?.();
  await Promise.all(answers);
  expect(kinds.slice(0, 6).sort()).toEqual([...Array(2).fill('/b complete'), ...Array(4).fill('/b no_memory')]);
  expect(kinds.slice(6).sort()).toEqual(['/c complete', '/d complete']);
  // The memory is free again.
  gateway.handler = echo;
  expect((await client.send({ path: '/b', body })).text).toBe(`{"bytes":${body.length}}`);
  client.close();
});

test('nothing is left in flight afterwards', () =>
  eventually(() => gateway.transport.inFlight() === 0, 'all exchanges end'));

/** Writes chunks of `sizeMib` while the server reads. Returns a function for the bytes sent. */
function endlessUpload(socket: Socket, sizeMib: number): () => number {
  const chunk = Buffer.concat([
    Buffer.from(`${(sizeMib * MIB).toString(16)}\r\n`),
    Buffer.alloc(sizeMib * MIB, 'x'),
    Buffer.from('\r\n'),
  ]);
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', write);
  socket.on('error', () => undefined);
  socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`, write);
  return () => socket.bytesWritten - socket.writableLength;
}

function received(socket: Socket, until: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => socket.destroy(), 20_000);
    socket.on('data', (piece) => {
      text += piece.toString();
      if (until.test(text)) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}
