import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { loadPackageDefinition, Server, ServerCredentials, type UntypedHandleCall } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EnvoyProcess, startEnvoy, temporaryPaths } from '../../harness/envoy-process.ts';
import { httpClient, type Received } from '../../harness/http-client.ts';
import { eventually, exchangeRaw } from '../../harness/transport-fixture.ts';
import { ipcMessage, startProcess, type TestProcess } from '../../launchers/child-process.ts';

/**
 * Errors that Envoy makes: for malformed HTTP, for its own limits, and for a gateway process that
 * is unavailable or faulty (docs/interface.md, "Errors").
 */
const paths = await temporaryPaths();
let envoy: EnvoyProcess;
let child: TestProcess;
let slowHeaders: Promise<string>;

beforeAll(async () => {
  await mkdir(paths.socketDir, { recursive: true });
  envoy = await startEnvoy({ paths, threads: 2 });
  child = await startChild();
  // Takes the ten seconds of request_headers_timeout while the other tests run.
  slowHeaders = exchangeRaw(envoy.port, 'GET /slow HTTP/1.1\r\nhost');
});
afterAll(async () => {
  await child?.end('SIGKILL');
  await envoy?.stop();
  await rm(paths.dataDir, { recursive: true, force: true });
});

const MALFORMED =
  '{"error":{"message":"The request is not well-formed HTTP/1.1 or HTTP/2.","type":"invalid_request_error","code":"invalid_request","metadata":{}}}';
const OLD_HTTP =
  '{"error":{"message":"This version of HTTP is not accepted; use HTTP/1.1 or HTTP/2.","type":"invalid_request_error","code":"invalid_request","metadata":{}}}';
const CODED =
  '{"error":{"message":"A transfer-encoding other than chunked is not accepted.","type":"invalid_request_error","code":"invalid_request","param":"transfer-encoding","metadata":{}}}';
const TOO_LARGE =
  '{"error":{"message":"The request is larger than the limit of 16384 bytes of headers, or 100 headers.","type":"invalid_request_error","code":"request_too_large","metadata":{}}}';
const TIMEOUT =
  '{"error":{"message":"The request did not arrive in time.","type":"timeout_error","code":"request_timeout","metadata":{}}}';
const INTERNAL =
  '{"error":{"message":"Something failed on our side. It has been recorded.","type":"api_error","code":"internal_error","metadata":{}}}';
const NO_CAPACITY =
  '{"error":{"message":"No capacity at the moment.","type":"service_unavailable_error","code":"no_capacity","metadata":{}}}';

test.each([
  ['bytes that are not HTTP', 'BLAH\r\n\r\n', 400, MALFORMED],
  ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, MALFORMED],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\nhost: a\r\n\r\n', 400, OLD_HTTP],
  ['a header name with a space', 'GET / HTTP/1.1\r\nhost: a\r\nbad name: x\r\n\r\n', 400, MALFORMED],
  [
    'two framings',
    'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n',
    400,
    MALFORMED,
  ],
  [
    'a content-length that is not a number',
    'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: abc\r\n\r\n',
    400,
    MALFORMED,
  ],
  ['a broken chunk', 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n', 400, MALFORMED],
  [
    'a compressed transfer coding',
    'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    400,
    CODED,
  ],
  ['a path without slash', 'OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n', 400, MALFORMED],
  ['a fragment', 'GET /#x HTTP/1.1\r\nhost: a\r\n\r\n', 400, MALFORMED],
  ['headers of 17 KB', `GET / HTTP/1.1\r\nhost: a\r\nx-big: ${'a'.repeat(17_000)}\r\n\r\n`, 413, TOO_LARGE],
  ['headers of 24 KB', `GET / HTTP/1.1\r\nhost: a\r\nx-big: ${'a'.repeat(24_000)}\r\n\r\n`, 413, TOO_LARGE],
  ['headers of 100 KB', `GET / HTTP/1.1\r\nhost: a\r\nx-big: ${'a'.repeat(100_000)}\r\n\r\n`, 413, TOO_LARGE],
  ['150 headers', `GET / HTTP/1.1\r\nhost: a\r\n${'x-a: 1\r\n'.repeat(150)}\r\n`, 413, TOO_LARGE],
  ['300 headers', `GET / HTTP/1.1\r\nhost: a\r\n${'x-a: 1\r\n'.repeat(300)}\r\n`, 413, TOO_LARGE],
])('%s', async (_, bytes, status, body) => {
  const text = await exchangeRaw(envoy.port, bytes);
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(text).toMatch(/\r\ncontent-type: application\/json\r\n/);
  expect(text).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  expect(text).not.toMatch(/envoy/i);
  expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(body);
});

test.each(['websocket', 'h2c, websocket', 'TLS/1.2'])('an upgrade to %s is ignored', async (to) => {
  const text = await exchangeRaw(
    envoy.port,
    `GET /x HTTP/1.1\r\nhost: a\r\nconnection: close, upgrade\r\nupgrade: ${to}\r\n\r\n`,
  );
  expect(text).toMatch(/^HTTP\/1.1 200 /);
  expect(text).toMatch(/worker 0$/);
});

test('headers of 17 and 24 KB, and 150 headers, are 413 over HTTP/2', async () => {
  const session = connectHttp2(`http://127.0.0.1:${envoy.port}`);
  const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, '1']));
  for (const headers of [{ 'x-big': 'a'.repeat(17_000) }, { 'x-big': 'a'.repeat(24_000) }, many]) {
    const stream = session.request({ ':path': '/', ...headers });
    const [answer] = await once(stream, 'response');
    expect(answer[':status']).toBe(413);
    expect((await buffer(stream)).toString()).toBe(TOO_LARGE);
  }
  session.destroy();
});

test('while the process is down, requests get no_capacity with retry-after, and are served once it is back', async () => {
  const client = httpClient(`http://127.0.0.1:${envoy.port}`);
  expect((await client.send({ path: '/x', body: 'x' })).text).toBe('worker 0');
  const inFlight = client.send({ path: '/hang', body: 'x' });
  await eventuallyAsync(
    async () => (await stat('cluster.gateway.upstream_rq_active')) === 1,
    'the request is in flight',
  );
  await child.end('SIGKILL');
  for (const answer of [
    await inFlight,
    await client.send({ path: '/x', body: 'x' }),
    await client.send({ path: '/x' }),
  ]) {
    expectNoCapacity(answer);
  }
  child = await startChild();
  await eventuallyAsync(async () => (await client.send({ path: '/x', body: 'x' })).status === 200, 'service is back');
  client.close();
});

test('a stream whose process is killed is visibly cut', async () => {
  const client = httpClient(`http://127.0.0.1:${envoy.port}`);
  const begun = Promise.withResolvers<void>();
  const answer = client.send({ path: '/paced?events=1000&ms=10', body: 'x', onPiece: () => begun.resolve() });
  const cut = expect(answer).rejects.toThrow();
  await begun.promise;
  await child.end('SIGKILL');
  await cut;
  client.close();
  child = await startChild();
});

test.each([
  ['OK, which would let the request pass', 0, 500, INTERNAL],
  ['our status for a bug', 10, 500, INTERNAL],
  ['UNAVAILABLE', 14, 503, NO_CAPACITY],
  ['INTERNAL', 13, 503, NO_CAPACITY],
])('a process that ends the ext_proc stream with %s causes an error', async (_, code, status, body) => {
  await child.end('SIGKILL');
  const processor = await wrongProcessor(code);
  const client = httpClient(`http://127.0.0.1:${envoy.port}`);
  let answer: Received | undefined;
  // Until Envoy has connected to the new server, it reports that the old one is unavailable.
  await eventuallyAsync(async () => {
    answer = await client.send({ path: '/v1/models' });
    return processor.calls() > 0;
  }, 'the new server is asked');
  expect(answer?.status).toBe(status);
  expect(answer?.text).toBe(body);
  client.close();
  processor.server.forceShutdown();
  child = await startChild();
});

test('headers that never end are 408', async () => {
  const text = await slowHeaders;
  expect(text).toMatch(/^HTTP\/1.1 408 /);
  expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(TIMEOUT);
});

test('Envoy logs requests that the process cannot log, one line each, without path or headers', async () => {
  const logged = () =>
    envoy
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
  // Envoy flushes its log every ten seconds.
  await expect.poll(() => logged().some(({ details }) => details === 'direct_response')).toBe(true);
  await expect.poll(() => logged().filter(({ status }) => status === 503).length).toBeGreaterThan(2);
  const malformed = () => logged().filter(({ status, details }) => status === 400 && details.startsWith('http1.'));
  await expect.poll(malformed).toHaveLength(6);
  const others = ['missing_host_header', 'absolute_path_rejected', 'path_normalization_failed'];
  for (const details of others) await expect.poll(() => logged().map((line) => line.details)).toContain(details);
  for (const line of logged()) expect(line.request_id).toMatch(/^[0-9a-f-]{36}$/);
  // Only the response that was cut is logged, and no complete one.
  await expect.poll(() => logged().flatMap(({ status, flags }) => (status === 200 ? [flags] : []))).toEqual(['UPE']);
  expect(new Set(logged().flatMap((line) => Object.keys(line)))).toEqual(
    new Set([
      'time',
      'source',
      'request_id',
      'method',
      'protocol',
      'peer',
      'status',
      'flags',
      'details',
      'duration_ms',
    ]),
  );
});

test('headers of 25 KB over HTTP/2 reset their stream without a response, and other streams of the connection continue', async () => {
  const session = connectHttp2(`http://127.0.0.1:${envoy.port}`);
  const beyond = session.request({ ':path': '/', 'x-big': 'a'.repeat(25_000) });
  const [error] = await once(beyond, 'error');
  expect(error.code).toBe('ERR_HTTP2_STREAM_ERROR');
  const [after] = await once(session.request({ ':path': '/', 'x-big': 'a'.repeat(17_000) }), 'response');
  expect(after[':status']).toBe(413);
  session.destroy();
});

// The last one: Envoy also logs the id that a client chose for a request without a host.
test('at the Messages API, an error has the form of that API if the request has a well-formed id', async () => {
  const bodyOf = async (path: string, head: string) => {
    const text = await exchangeRaw(envoy.port, `GET ${path} HTTP/1.1\r\n${head}\r\n`);
    return text.slice(text.indexOf('\r\n\r\n') + 4);
  };
  const id = crypto.randomUUID();
  const { error } = JSON.parse(MALFORMED);
  for (const path of ['/v1/messages', '/v1/messages?beta=true', '/v1/messages/count_tokens'])
    expect(JSON.parse(await bodyOf(path, `x-request-id: ${id}\r\n`))).toEqual({ type: 'error', error, request_id: id });
  expect(await bodyOf('/v1/messages', '')).toBe(MALFORMED);
  expect(await bodyOf('/v1/messages', 'x-request-id: ","a":"\\\r\n')).toBe(MALFORMED);
  expect(await bodyOf('/v1/messagesX', `x-request-id: ${id}\r\n`)).toBe(MALFORMED);
});

function expectNoCapacity(answer: Received): void {
  expect(answer.status).toBe(503);
  expect(answer.text).toBe(NO_CAPACITY);
  expect(answer.headers['retry-after']).toBe('10');
  expect(answer.headers['content-type']).toBe('application/json');
  expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
}

async function startChild(): Promise<TestProcess> {
  const started = startProcess(process.execPath, [fileURLToPath(new URL('./transport-child.ts', import.meta.url))], {
    env: { ...process.env, GATEWAY_DATA: paths.dataDir },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  await ipcMessage(started, 'listening');
  return started;
}

async function stat(name: string): Promise<number> {
  const text = await envoy.admin(`/stats?filter=^${name}$`);
  return Number(text.trim().split(': ')[1]);
}

async function eventuallyAsync(condition: () => Promise<boolean>, what: string): Promise<void> {
  let holds = false;
  const poll = (async () => {
    while (!holds) {
      holds = await condition();
      if (!holds) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await eventually(() => holds, what);
  await poll;
}

/**
 * A processor on grpc-js, with the .proto of proto-loader, that ends every stream with the same
 * status.
 */
async function wrongProcessor(code: number): Promise<{ server: Server; calls(): number }> {
  let calls = 0;
  const definition = loadSync(fileURLToPath(new URL('../../../proto/ext_proc.proto', import.meta.url)));
  const loaded = loadPackageDefinition(definition) as unknown as {
    envoy: { service: { ext_proc: { v3: { ExternalProcessor: { service: object } } } } };
  };
  const process: UntypedHandleCall = (call: {
    end(): void;
    emit(event: string, error: object): void;
    on(event: string, f: () => void): void;
  }) => {
    call.on('data', () => {
      calls++;
      if (code === 0) call.end();
      else call.emit('error', { code, details: 'on purpose' });
    });
  };
  const server = new Server();
  server.addService(loaded.envoy.service.ext_proc.v3.ExternalProcessor.service as never, { Process: process });
  await rm(paths.extProcSocket(0), { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${paths.extProcSocket(0)}`, ServerCredentials.createInsecure(), (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
  return { server, calls: () => calls };
}
