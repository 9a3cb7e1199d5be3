import { mkdtempSync, rmSync } from 'node:fs';
import { constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '#packages/http2-server/frames.fixture.ts';
import type { BodyBounds, ExchangeHandler } from './exchange.ts';
import {
  connectProcessor,
  grpcStatus,
  headerMap,
  headers,
  open,
  openSession,
  PROCESS,
  type ProcessorClient,
} from './ext-proc/processor.fixture.ts';
import { startTransport, type Transport, type TransportFault } from './start.ts';

/** The service with another client in the place of Envoy, which does also what Envoy never does. */
const BOUNDS: BodyBounds = {
  organizationId: 'org_a',
  limitBytes: 1000,
  mostUploads: 1000,
  stallMs: 20_000,
  totalMs: 20_000,
};

let folder: string;
let transport: Transport;
let client: ProcessorClient;
let handler: ExchangeHandler;
const faults: TransportFault[] = [];
const socketPath = () => join(folder, 'ext-proc.sock');

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gw-transport-'));
  faults.length = 0;
  transport = await startTransport({
    extProcSocket: socketPath(),
    streamSocket: join(folder, 'stream.sock'),
    streamClusterName: 'gateway-stream-7',
    handler: (exchange) => handler(exchange),
    bodyBudgetBytes: 100_000,
    exchangeDeadlineMs: () => 60_000,
    maxInFlight: 4,
    onFault: (fault) => faults.push(fault),
  });
  client = connectProcessor(socketPath());
});
afterEach(async () => {
  client.close();
  await transport.close();
  rmSync(folder, { recursive: true, force: true });
});

const okay: ExchangeHandler = async (exchange) => {
  const body = await exchange.readBody(BOUNDS);
  await exchange.respond({ status: 200, headers: { 'x-kind': body.kind }, body: Buffer.from('fine') });
};

describe('startTransport', () => {
  test('answers in place: status, headers, length, body, and the end only with the end of the request', async () => {
    handler = okay;
    const call = open(client);
    call.write(headers({ ':method': 'POST' }));
    call.write({ request_body: { body: Buffer.from('ab') } });
    call.write({ request_body: { body: Buffer.from('c'), end_of_stream: true } });
    const [head, body] = await call.take(2);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)).toEqual({
      ':status': '200',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-kind': 'complete',
      'content-length': '4',
    });
    expect(body?.streamed_immediate_response?.body_response).toMatchObject({ end_of_stream: true });
    expect(String(body?.streamed_immediate_response?.body_response?.body)).toBe('fine');
    // The stream ends behind the whole response.
    expect(await call.statusWithin(20_000)).toBe(0);
    call.end();
  });

  test('holds back the end of an early response until the body has ended', async () => {
    handler = (exchange) => exchange.respond({ status: 401, headers: {}, body: Buffer.from('no') });
    const call = open(client);
    call.write(headers({}));
    const [, body] = await call.take(2);
    expect(body?.streamed_immediate_response?.body_response?.end_of_stream).not.toBe(true);
    expect(await call.statusWithin(100)).toBeUndefined();
    call.write({ request_body: { body: Buffer.from('late'), end_of_stream: true } });
    const [end] = await call.take(1);
    expect(end?.streamed_immediate_response?.body_response?.end_of_stream).toBe(true);
    call.end();
    expect(await call.statusWithin(20_000)).toBe(0);
  });

  test('an upload that goes on after its refusal takes nothing of the budget for bodies', async () => {
    handler = (exchange) => exchange.respond({ status: 401, headers: {}, body: Buffer.from('no') });
    const refused = open(client);
    refused.write(headers({}));
    await refused.take(2);
    for (let piece = 0; piece < 110; piece++) refused.write({ request_body: { body: Buffer.alloc(900) } });
    // Streams of one connection may overtake each other.
    await new Promise((resolve) => setTimeout(resolve, 50));
    handler = okay;
    const call = open(client);
    call.write(headers({}));
    call.write({ request_body: { body: Buffer.alloc(900), end_of_stream: true } });
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)['x-kind']).toBe('complete');
    for (const each of [refused, call]) each.end();
  });

  test('routes a stream with an id that cannot be guessed, its own cluster and a new route, without the body', async () => {
    handler = async (exchange) => {
      await exchange.readBody(BOUNDS);
      await exchange.openStream({ status: 200, headers: {} });
    };
    const call = open(client);
    const byEnvoy = { ':path': '/v1/x', 'x-request-id': 'r', 'x-forwarded-proto': 'http', 'x-envoy-internal': 'true' };
    call.write(headers({ ...byEnvoy, authorization: 'Bearer secret', expect: '200-ok', 'x-own': '1' }));
    call.write({ request_trailers: { trailers: {} } });
    const [head, body, trailers] = await call.take(3);
    const response = head?.request_headers?.response;
    const set = response?.header_mutation?.set_headers ?? [];
    expect(set.map(({ header }) => header.key)).toEqual([
      ':path',
      'x-gw-stream',
      'x-gw-cluster',
      'x-envoy-upstream-rq-timeout-ms',
    ]);
    expect(Number(set[3]?.header.raw_value)).toBeGreaterThan(1_000);
    expect(String(set[0]?.header.raw_value)).toBe('/');
    expect(String(set[1]?.header.raw_value)).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(String(set[2]?.header.raw_value)).toBe('gateway-stream-7');
    expect(response?.header_mutation?.remove_headers).toEqual(['authorization', 'expect', 'x-own']);
    expect(response?.clear_route_cache).toBe(true);
    expect(body?.request_body?.response?.body_mutation?.streamed_response?.end_of_stream).toBe(true);
    expect(trailers?.request_trailers).toBeDefined();
    call.end();
    expect(await call.statusWithin(20_000)).toBe(0);
  });

  test('HEAD is answered in place, however large the body that it does not get', async () => {
    handler = (exchange) => exchange.respond({ status: 200, headers: {}, body: Buffer.alloc(1_000_000) });
    const call = open(client);
    call.write(headers({ ':method': 'HEAD' }, true));
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)).toEqual({
      ':status': '200',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-length': '1000000',
    });
    call.end();
    expect(await call.statusWithin(20_000)).toBe(0);
  });

  test('a head that cannot be written is a bug that is reported, and the client gets an answer', async () => {
    handler = async (exchange) => {
      await exchange.openStream({ status: 200, headers: { 'x-own': 'a\r\nb: c' } });
    };
    const call = open(client);
    call.write(headers({}, true));
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)[':status']).toBe('500');
    expect(faults.map(({ kind }) => kind)).toEqual(['handler_threw']);
    call.end();
  });

  test('a client that leaves before an answer ends with an error status, never with OK', async () => {
    let aborted = false;
    handler = (exchange) =>
      new Promise((resolve) => {
        exchange.gone.addEventListener('abort', () => {
          aborted = true;
          resolve();
        });
      });
    const call = open(client);
    call.write(headers({}));
    await waitFor(() => transport.inFlight() === 1);
    call.end();
    expect(await call.statusWithin(20_000)).toBe(1);
    expect(aborted).toBe(true);
    expect(transport.inFlight()).toBe(0);
  });

  test.each([
    ['a body without headers', [{ request_body: { body: Buffer.from('x') } }]],
    ['headers twice', [headers({}), headers({})]],
    ['a message that says nothing', [{}]],
  ])('%s fails the stream and is reported', async (_, messages) => {
    handler = async (exchange) => {
      expect((await exchange.readBody(BOUNDS)).kind).toBe('gone');
    };
    const call = open(client);
    for (const message of messages) call.write(message);
    expect(await call.statusWithin(20_000)).toBe(10);
    expect(faults.map(({ kind }) => kind)).toEqual(['protocol']);
    await waitFor(() => transport.inFlight() === 0);
  });

  test('a second response is a bug that is reported, and the first one is sent', async () => {
    handler = async (exchange) => {
      void exchange.respond({ status: 200, headers: {}, body: Buffer.from('first') });
      await exchange.respond({ status: 500, headers: {}, body: Buffer.from('second') });
    };
    const call = open(client);
    call.write(headers({}, true));
    const [, body] = await call.take(2);
    expect(String(body?.streamed_immediate_response?.body_response?.body)).toBe('first');
    expect(faults.map(({ kind }) => kind)).toEqual(['handler_threw']);
    call.end();
  });

  test('above the bound of exchanges new ones are refused with no_capacity', async () => {
    handler = (exchange) => new Promise((resolve) => exchange.gone.addEventListener('abort', () => resolve()));
    const waiting = Array.from({ length: 4 }, () => open(client));
    for (const call of waiting) call.write(headers({}, true));
    await waitFor(() => transport.inFlight() === 4);
    const call = open(client);
    call.write(headers({}, true));
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)).toMatchObject({
      ':status': '503',
      'retry-after': '10',
    });
    for (const each of [...waiting, call]) each.end();
    await waitFor(() => transport.inFlight() === 0);
  });

  test('draining lets requests in flight end, and accepts no new ones', async () => {
    let finish: (() => void) | undefined;
    handler = async (exchange) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      await okay(exchange);
    };
    const call = open(client);
    call.write(headers({}, true));
    await waitFor(() => finish !== undefined);
    expect(await transport.drain(20)).toBe(1);
    const drained = transport.drain(5_000);
    finish?.();
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)[':status']).toBe('200');
    call.end();
    expect(await drained).toBe(0);
    const late = open(client);
    late.write(headers({}, true));
    expect(await late.statusWithin(20_000)).toBe(14);
  });

  test('streams that are reset in quick succession do not cost the connection', async () => {
    handler = okay;
    const session = openSession(socketPath());
    let goaway = false;
    session.on('goaway', () => {
      goaway = true;
    });
    for (let reset = 0; reset < 3_000; reset++) {
      const stream = session.request({ ':method': 'POST', ':path': PROCESS }).on('error', () => undefined);
      await new Promise((resolve) => {
        stream.on('close', resolve);
        setImmediate(() => stream.close(constants.NGHTTP2_CANCEL));
      });
    }
    // Asked last on the same connection, and answered.
    expect(await grpcStatus(session, '/other.Service/Method')).toBe('12');
    expect(goaway).toBe(false);
    await waitFor(() => transport.inFlight() === 0);
    session.destroy();
  });

  test('another method is unimplemented', async () => {
    const session = openSession(socketPath());
    expect(await grpcStatus(session, '/other.Service/Method')).toBe('12');
    session.destroy();
  });
});
