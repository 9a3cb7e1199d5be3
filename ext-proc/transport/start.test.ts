import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:http2';
import { connect as netConnect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ClientDuplexStream, credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BodyBounds, ExchangeHandler } from './exchange.ts';
import { startTransport, type Transport, type TransportFault } from './start.ts';

/**
 * The service as an independent reader of the .proto sees it: grpc-js and proto-loader in the place of Envoy, doing also what Envoy
 * never does.
 */
const BOUNDS: BodyBounds = { limitBytes: 1000, idleMs: 1_000, totalMs: 2_000 };

let folder: string;
let transport: Transport;
let client: ProcessorClient;
let handler: ExchangeHandler;
const faults: TransportFault[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gw-transport-'));
  faults.length = 0;
  transport = await startTransport({
    extProcSocket: join(folder, 'ext-proc.sock'),
    streamSocket: join(folder, 'stream.sock'),
    streamClusterName: 'gateway-stream-7',
    handler: (exchange) => handler(exchange),
    bodyBudgetBytes: 10_000,
    exchangeDeadlineMs: () => 60_000,
    maxInFlight: 2,
    onFault: (fault) => faults.push(fault),
  });
  const service = loadSync(fileURLToPath(new URL('../../proto/ext_proc.proto', import.meta.url)), { keepCase: true });
  const loaded = loadPackageDefinition(service) as unknown as LoadedPackage;
  client = new loaded.envoy.service.ext_proc.v3.ExternalProcessor(
    `unix:${join(folder, 'ext-proc.sock')}`,
    credentials.createInsecure(),
  );
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
    const call = open();
    call.write(headers({ ':method': 'POST' }));
    call.write({ request_body: { body: Buffer.from('ab') } });
    call.write({ request_body: { body: Buffer.from('c'), end_of_stream: true } });
    const [head, body] = await call.take(2);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)).toEqual({
      ':status': '200',
      'x-kind': 'complete',
      'content-length': '4',
    });
    expect(body?.streamed_immediate_response?.body_response).toMatchObject({ end_of_stream: true });
    expect(String(body?.streamed_immediate_response?.body_response?.body)).toBe('fine');
    // The process does not end the stream first: Envoy does.
    expect(await call.statusWithin(100)).toBeUndefined();
    call.end();
    expect(await call.statusWithin(2_000)).toBe(0);
  });

  test('keeps the end of an early answer back until the body ended', async () => {
    handler = (exchange) => exchange.respond({ status: 401, headers: {}, body: Buffer.from('no') });
    const call = open();
    call.write(headers({}));
    const [, body] = await call.take(2);
    expect(body?.streamed_immediate_response?.body_response?.end_of_stream).not.toBe(true);
    call.write({ request_body: { body: Buffer.from('late'), end_of_stream: true } });
    const [end] = await call.take(1);
    expect(end?.streamed_immediate_response?.body_response?.end_of_stream).toBe(true);
    call.end();
    expect(await call.statusWithin(2_000)).toBe(0);
  });

  test('an upload that goes on after its refusal takes nothing of the budget for bodies', async () => {
    handler = (exchange) => exchange.respond({ status: 401, headers: {}, body: Buffer.from('no') });
    const refused = open();
    refused.write(headers({}));
    await refused.take(2);
    for (let piece = 0; piece < 11; piece++) refused.write({ request_body: { body: Buffer.alloc(900) } });
    // Streams of one connection may overtake each other.
    await new Promise((resolve) => setTimeout(resolve, 50));
    handler = okay;
    const call = open();
    call.write(headers({}));
    call.write({ request_body: { body: Buffer.alloc(900), end_of_stream: true } });
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)['x-kind']).toBe('complete');
    for (const each of [refused, call]) each.end();
  });

  test('routes a stream: an id that cannot be guessed, its own cluster, the route chosen anew, the body dropped', async () => {
    handler = async (exchange) => {
      await exchange.readBody(BOUNDS);
      await exchange.openStream({ status: 200, headers: {} });
    };
    const call = open();
    call.write(headers({ authorization: 'Bearer secret' }));
    call.write({ request_trailers: { trailers: {} } });
    const [head, body, trailers] = await call.take(3);
    const response = head?.request_headers?.response;
    const set = response?.header_mutation?.set_headers ?? [];
    expect(set.map(({ header }) => header.key)).toEqual(['x-gw-stream', 'x-gw-cluster']);
    expect(String(set[0]?.header.raw_value)).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(String(set[1]?.header.raw_value)).toBe('gateway-stream-7');
    expect(response?.header_mutation?.remove_headers).toContain('authorization');
    expect(response?.clear_route_cache).toBe(true);
    expect(body?.request_body?.response?.body_mutation?.streamed_response?.end_of_stream).toBe(true);
    expect(trailers?.request_trailers).toBeDefined();
    call.end();
    expect(await call.statusWithin(2_000)).toBe(0);
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
    const call = open();
    call.write(headers({}));
    await waitFor(() => transport.inFlight() === 1);
    call.end();
    expect(await call.statusWithin(2_000)).toBe(1);
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
    const call = open();
    for (const message of messages) call.write(message);
    expect(await call.statusWithin(2_000)).toBe(10);
    expect(faults.map(({ kind }) => kind)).toEqual(['protocol']);
    await waitFor(() => transport.inFlight() === 0);
  });

  test('an answer given twice is a bug that is reported, and the first one stands', async () => {
    handler = async (exchange) => {
      void exchange.respond({ status: 200, headers: {}, body: Buffer.from('first') });
      await exchange.respond({ status: 500, headers: {}, body: Buffer.from('second') });
    };
    const call = open();
    call.write(headers({}, true));
    const [, body] = await call.take(2);
    expect(String(body?.streamed_immediate_response?.body_response?.body)).toBe('first');
    expect(faults.map(({ kind }) => kind)).toEqual(['handler_threw']);
    call.end();
  });

  test('above the bound of exchanges new ones are refused with no_capacity', async () => {
    handler = (exchange) => new Promise((resolve) => exchange.gone.addEventListener('abort', () => resolve()));
    const waiting = [open(), open()];
    for (const call of waiting) call.write(headers({}, true));
    await waitFor(() => transport.inFlight() === 2);
    const call = open();
    call.write(headers({}, true));
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)).toMatchObject({
      ':status': '503',
      'retry-after': '10',
    });
    for (const each of [...waiting, call]) each.end();
    await waitFor(() => transport.inFlight() === 0);
  });

  test('draining lets what is in flight end, and takes nothing new', async () => {
    let finish: (() => void) | undefined;
    handler = async (exchange) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      await okay(exchange);
    };
    const call = open();
    call.write(headers({}, true));
    await waitFor(() => finish !== undefined);
    expect(await transport.drain(20)).toBe(1);
    const drained = transport.drain(5_000);
    finish?.();
    const [head] = await call.take(1);
    expect(headerMap(head?.streamed_immediate_response?.headers_response)[':status']).toBe('200');
    call.end();
    expect(await drained).toBe(0);
    const late = open();
    late.write(headers({}, true));
    expect(await late.statusWithin(2_000)).toBe(14);
  });

  test('another method is unimplemented', async () => {
    const session = connect('http://any', { createConnection: () => netConnect(join(folder, 'ext-proc.sock')) });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/other.Service/Method',
      'content-type': 'application/grpc',
    });
    const status = await new Promise((resolve) => {
      stream.on('response', (all) => resolve(all['grpc-status']));
    });
    expect(status).toBe('12');
    session.destroy();
  });
});

interface HeaderValue {
  readonly key: string;
  readonly raw_value: Buffer;
}

interface Reply {
  readonly request_headers?: {
    response: {
      header_mutation: { set_headers: { header: HeaderValue }[]; remove_headers: string[] };
      clear_route_cache: boolean;
    };
  };
  readonly request_body?: { response: { body_mutation: { streamed_response: { end_of_stream: boolean } } } };
  readonly request_trailers?: object;
  readonly streamed_immediate_response?: {
    headers_response?: { headers: { headers: HeaderValue[] }; end_of_stream?: boolean };
    body_response?: { body?: Buffer; end_of_stream?: boolean };
  };
}

interface ProcessorClient {
  Process(): ClientDuplexStream<object, Reply>;
  close(): void;
}

interface LoadedPackage {
  envoy: {
    service: { ext_proc: { v3: { ExternalProcessor: new (address: string, creds: object) => ProcessorClient } } };
  };
}

interface Call {
  write(message: object): void;
  end(): void;
  /** The next `count` replies. */
  take(count: number): Promise<Reply[]>;
  /** The gRPC status, or undefined when the stream did not end in that time. */
  statusWithin(ms: number): Promise<number | undefined>;
}

function open(): Call {
  const call = client.Process();
  const replies: Reply[] = [];
  let status: number | undefined;
  call.on('data', (reply) => replies.push(reply));
  call.on('error', () => undefined);
  call.on('status', ({ code }) => {
    status = code;
  });
  return {
    write: (message) => call.write(message),
    end: () => call.end(),
    async take(count) {
      await waitFor(() => replies.length >= count);
      return replies.splice(0, count);
    },
    async statusWithin(ms) {
      await waitFor(() => status !== undefined, ms).catch(() => undefined);
      return status;
    },
  };
}

function headers(values: Readonly<Record<string, string>>, endOfStream = false): object {
  const list = Object.entries(values).map(([key, value]) => ({ key, raw_value: Buffer.from(value) }));
  return { request_headers: { headers: { headers: list }, end_of_stream: endOfStream } };
}

function headerMap(head: { headers: { headers: HeaderValue[] } } | undefined): Record<string, string> {
  return Object.fromEntries((head?.headers.headers ?? []).map(({ key, raw_value }) => [key, String(raw_value)]));
}

async function waitFor(condition: () => boolean, withinMs = 2_000): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error('never happened');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
