import { Agent, request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { type HttpClient, httpClient, type Protocol } from '../../harness/http-client.ts';
import { opened } from '../../harness/opened.ts';
import { BOUNDS, echo, eventually, exchangeRaw, json, MIB, startFixture } from '../../harness/transport-fixture.ts';

const gateway = opened(startFixture);

beforeEach(() => {
  gateway.handler = echo;
  gateway.faults.length = 0;
});
showLogsOnFailure(() => gateway);

const INTERNAL_ERROR =
  '{"error":{"message":"Something failed on our side. It has been recorded.","type":"api_error","code":"internal_error","metadata":{}}}';

describe.each<Protocol>(['http1', 'http2'])('over %s', (protocol) => {
  let client: HttpClient;
  beforeAll(() => {
    client = httpClient(gateway.origin, protocol);
  });
  afterAll(() => client.close());

  test('a refusal before the body is read arrives unchanged, with a request id', async () => {
    gateway.handler = (exchange) => exchange.respond(json(401, { no: exchange.requestId }));
    const answer = await client.send({ path: '/v1/models', body: 'unread' });
    expect(answer.status).toBe(401);
    expect(answer.text).toBe(JSON.stringify({ no: answer.headers['x-request-id'] }));
    expect(answer.headers['content-type']).toBe('application/json');
    expect(Object.keys(answer.headers).filter((name) => name === 'server' || name.startsWith('x-envoy'))).toEqual([]);
  });

  test('a response after the body arrives, and one without a body', async () => {
    expect((await client.send({ path: '/a', body: 'x'.repeat(100_000) })).text).toBe('{"bytes":100000}');
    expect((await client.send({ path: '/a' })).text).toBe('{"bytes":0}');
    gateway.handler = (exchange) => exchange.respond({ status: 204, headers: {}, body: Buffer.alloc(0) });
    expect((await client.send({ path: '/a' })).status).toBe(204);
  });

  test.each([262_144, 262_145, 5 * MIB])('a response of %i bytes arrives completely', async (size) => {
    const body = Buffer.alloc(size, 'abcdefg');
    gateway.handler = async (exchange) => {
      await exchange.readBody(BOUNDS);
      await exchange.respond({ status: 201, headers: { 'content-type': 'text/plain', 'x-own': '1' }, body });
    };
    const answer = await client.send({ path: '/big', body: 'x' });
    expect(answer.status).toBe(201);
    expect(answer.headers['x-own']).toBe('1');
    expect(answer.headers['content-length']).toBe(String(size));
    expect(answer.body.equals(body)).toBe(true);
  });

  test('a stream arrives piece by piece, without delay, and ends cleanly', async () => {
    let pieceSeen: (() => void) | undefined;
    gateway.handler = async (exchange) => {
      await exchange.readBody(BOUNDS);
      const stream = await exchange.openStream({ status: 200, headers: { 'content-type': 'text/event-stream' } });
      for (const piece of ['one', 'two', 'three']) {
        // The next piece is written only after the client has this one, so a delayed piece would
        // block the test.
        const seen = new Promise<void>((resolve) => {
          pieceSeen = resolve;
        });
        stream?.write(Buffer.from(`data: ${piece}\n\n`));
        await seen;
      }
      await stream?.end(Buffer.from('data: [DONE]\n\n'));
    };
    const answer = await client.send({ path: '/s', body: 'x', onPiece: () => pieceSeen?.() });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.text).toBe('data: one\n\ndata: two\n\ndata: three\n\ndata: [DONE]\n\n');
  });

  test('a stream may begin before the body was read, and does not wait for its end', async () => {
    gateway.handler = async (exchange) => {
      const stream = await exchange.openStream({ status: 200, headers: {} });
      await stream?.end(Buffer.from('done'));
    };
    expect((await client.send({ path: '/early', body: 'x'.repeat(10) })).text).toBe('done');
  });

  test('HEAD gets only the headers of the response', async () => {
    const answer = await client.send({ method: 'HEAD', path: '/h' });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-length']).toBe('11');
    expect(answer.text).toBe('');
  });

  test('a handler that throws or never responds is an internal error and is reported', async () => {
    gateway.handler = () => Promise.reject(new Error('boom'));
    const thrown = await client.send({ path: '/t', body: 'x' });
    gateway.handler = () => Promise.resolve();
    const silent = await client.send({ path: '/t', body: 'x' });
    for (const answer of [thrown, silent]) {
      expect(answer.status).toBe(500);
      expect(answer.text).toBe(INTERNAL_ERROR);
      expect(answer.headers['x-request-id']).toBeTypeOf('string');
    }
    expect(gateway.faults.map(({ kind, requestId }) => [kind, requestId])).toEqual([
      ['handler_threw', thrown.headers['x-request-id']],
      ['handler_did_not_respond', silent.headers['x-request-id']],
    ]);
  });

  test('a handler that throws within a stream cuts it visibly', async () => {
    let seen: (() => void) | undefined;
    gateway.handler = async (exchange) => {
      const stream = await exchange.openStream({ status: 200, headers: {} });
      stream?.write(Buffer.from('begun'));
      await new Promise<void>((resolve) => {
        seen = resolve;
      });
      throw new Error('boom');
    };
    const answer = client.send({ path: '/t', body: 'x', onPiece: () => seen?.() });
    await expect(answer).rejects.toThrow();
  });

  test('headers that only the gateway may set are removed from requests of clients', async () => {
    gateway.handler = async (exchange) => {
      const names = [
        'x-gw-stream',
        'x-gw-cluster',
        'x-gw-other',
        'x-envoy-attempt-count',
        'x-forwarded-for',
        'x-twice',
      ];
      const seen = Object.fromEntries(names.map((name) => [name, exchange.header(name) ?? null]));
      await exchange.respond(json(200, { ...seen, id: exchange.requestId, peer: exchange.peerAddress }));
    };
    const answer = await client.send({
      path: '/spoof',
      headers: {
        'x-gw-stream': 'AAAAAAAAAAAAAAAAAAAAAA',
        'X-GW-Cluster': 'gateway-stream-0',
        'x-gw-other': '1',
        'x-envoy-attempt-count': '7',
        'x-request-id': 'mine',
        'x-forwarded-for': '192.0.2.1',
      },
    });
    expect(JSON.parse(answer.text)).toEqual({
      'x-gw-stream': null,
      'x-gw-cluster': null,
      'x-gw-other': null,
      'x-envoy-attempt-count': null,
      'x-forwarded-for': '192.0.2.1',
      'x-twice': null,
      id: answer.headers['x-request-id'],
      peer: '127.0.0.1',
    });
    expect(answer.headers['x-request-id']).not.toBe('mine');
  });

  test('an exchange that exceeds its deadline gets an error, and its handler is aborted', async () => {
    let stopped = false;
    gateway.deadlineMs = 50;
    gateway.handler = (exchange) =>
      new Promise((resolve) => {
        exchange.gone.addEventListener('abort', () => {
          stopped = true;
          resolve();
        });
      });
    const answer = await client.send({ path: '/hang', body: 'x' });
    gateway.deadlineMs = 60_000;
    expect(answer.status).toBe(500);
    expect(answer.text).toBe(INTERNAL_ERROR);
    expect(stopped).toBe(true);
    expect(gateway.faults.map(({ kind }) => kind)).toEqual(['deadline']);
  });

  test('nothing is left in flight afterwards', () =>
    eventually(() => gateway.transport.inFlight() === 0, 'all exchanges end'));
});

test('refusals of small bodies keep an HTTP/1.1 connection', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  gateway.handler = (exchange) => exchange.respond(json(Number(exchange.path.slice(1)), { refused: true }));
  for (const status of [400, 401, 402, 403, 404, 413, 422, 429, 500, 503]) {
    const got = await new Promise<number | undefined>((resolve, reject) => {
      const call = request(
        { port: gateway.port, path: `/${status}`, method: 'POST', agent, headers: { 'content-length': '1000' } },
        (response) => {
          ports.add(response.socket.localPort);
          response.resume().on('end', () => resolve(response.statusCode));
        },
      );
      call.on('error', reject);
      call.end('x'.repeat(1000));
    });
    expect(got).toBe(status);
  }
  agent.destroy();
  expect(ports.size).toBe(1);
});

test.each([
  ['in place', echo, '{"bytes":5}'],
  [
    'as a stream',
    async (exchange) => {
      await exchange.readBody(BOUNDS);
      const stream = await exchange.openStream({ status: 200, headers: {} });
      await stream?.end(Buffer.from('{{}}'));
    },
    '{{}}',
  ],
  [
    'as a stream before the body was read',
    async (exchange) => {
      const stream = await exchange.openStream({ status: 200, headers: {} });
      await stream?.end(Buffer.from('{{}}'));
    },
    '{{}}',
  ],
] satisfies [string, typeof echo, string][])(
  'a request with trailers gets its response %s',
  async (_, handler, expected) => {
    gateway.handler = handler;
    const head = 'POST /t HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';
    const text = await exchangeRaw(gateway.port, `${head}5\r\nhello\r\n0\r\nx-late: 1\r\n\r\n`, /(\}\}|:5\})/);
    expect(text).toContain('HTTP/1.1 200 OK');
    expect(text).toContain(expected);
  },
);
