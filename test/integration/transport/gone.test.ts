import { request } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BodyResult, Exchange } from '#ext-proc/transport/exchange.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import type { Protocol } from '../../harness/http-client.ts';
import { opened } from '../../harness/opened.ts';
import { BOUNDS, echo, eventually, json, MIB, startFixture } from '../../harness/transport-fixture.ts';

const gateway = opened(startFixture);

beforeEach(() => {
  gateway.handler = echo;
  gateway.faults.length = 0;
});
showLogsOnFailure(() => gateway);

describe.each<Protocol>(['http1', 'http2'])('a client over %s disconnects', (protocol) => {
  test('while the handler works on its response', async () => {
    const seen = onExchange(async (exchange) => {
      await exchange.readBody(BOUNDS);
      await aborted(exchange);
      // A response to a client that has disconnected is no error, and does not wait.
      await exchange.respond(json(200, {}));
      expect(await exchange.openStream({ status: 200, headers: {} })).toBeUndefined();
    });
    const client = openRequest(protocol, 'whole', true);
    await seen.began;
    client.leave();
    await seen.done;
  });

  test('before the handler has read anything', async () => {
    const seen = onExchange((exchange) => aborted(exchange));
    const client = openRequest(protocol, '', true);
    await seen.began;
    client.leave();
    await seen.done;
  });

  test('during its upload', async () => {
    let result: BodyResult | undefined;
    const seen = onExchange(async (exchange) => {
      result = await exchange.readBody(BOUNDS);
      expect(exchange.gone.aborted).toBe(true);
    });
    const client = openRequest(protocol, 'first part', false);
    await seen.began;
    client.leave();
    await seen.done;
    expect(result).toEqual({ kind: 'gone' });
  });

  test('between two pieces of a stream', async () => {
    const seen = onExchange(async (exchange) => {
      await exchange.readBody(BOUNDS);
      const stream = await exchange.openStream({ status: 200, headers: {} });
      stream?.write(Buffer.from('begun'));
      await aborted(exchange);
      expect(stream?.write(Buffer.from('late'))).toBe(false);
      await stream?.drained();
      await stream?.end();
    });
    const client = openRequest(protocol, 'whole', true);
    await client.firstPiece;
    client.leave();
    await seen.done;
  });

  test('while a stream waits for the client to read', async () => {
    let written = 0;
    const seen = onExchange(async (exchange) => {
      await exchange.readBody(BOUNDS);
      const stream = await exchange.openStream({ status: 200, headers: {} });
      while (!exchange.gone.aborted) {
        written += 65_536;
        if (stream?.write(Buffer.alloc(65_536)) === false) await stream.drained();
      }
    });
    const client = openRequest(protocol, 'whole', true, false);
    await eventually(() => written > 0, 'the stream begins');
    await stillness(() => written);
    expect(written).toBeLessThan(16 * MIB);
    client.leave();
    await seen.done;
  });

  test('while a large response waits for the client to read', async () => {
    const seen = onExchange(async (exchange) => {
      await exchange.respond({ status: 200, headers: {}, body: Buffer.alloc(64 * MIB) });
    });
    const client = openRequest(protocol, 'whole', true, false);
    await seen.began;
    client.leave();
    await seen.done;
  });

  test('and no exchange is left in flight', async () => {
    await eventually(() => gateway.transport.inFlight() === 0, 'all exchanges end');
    expect(gateway.faults).toEqual([]);
  });
});

test('a handler can abort the stream of a client that never reads', async () => {
  const seen = onExchange(async (exchange) => {
    const stream = await exchange.openStream({ status: 200, headers: {} });
    while (stream?.write(Buffer.alloc(65_536)));
    stream?.abort();
    stream?.abort();
    await stream?.end();
  });
  const client = openRequest('http1', 'whole', true, false);
  await seen.done;
  await eventually(() => gateway.transport.inFlight() === 0, 'the exchange ends');
  client.leave();
});

/**
 * Sets the handler. `began` resolves when it is called, `done` when it returns. `done` rejects if
 * it throws.
 */
function onExchange(work: (exchange: Exchange) => Promise<void>): { began: Promise<void>; done: Promise<void> } {
  const began = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  gateway.handler = async (exchange) => {
    began.resolve();
    await work(exchange).then(done.resolve, done.reject);
  };
  return { began: began.promise, done: within(done.promise, 'the handler settles') };
}

function aborted(exchange: Exchange): Promise<void> {
  return within(
    new Promise<void>((resolve) => {
      if (exchange.gone.aborted) resolve();
      exchange.gone.addEventListener('abort', () => resolve());
    }),
    'the handler hears that the client left',
  );
}

async function within(promise: Promise<void>, what: string): Promise<void> {
  let settled = false;
  const watched = promise.finally(() => {
    settled = true;
  });
  watched.catch(() => undefined);
  await eventually(() => settled, what);
  return watched;
}

async function stillness(value: () => number): Promise<void> {
  let last = -1;
  while (value() !== last) {
    last = value();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

interface OpenRequest {
  readonly firstPiece: Promise<void>;
  leave(): void;
}

/** Sends a request, with its complete body if `ended`. Unless `reads`, the response is not read. */
function openRequest(protocol: Protocol, body: string, ended: boolean, reads = true): OpenRequest {
  const first = Promise.withResolvers<void>();
  const onResponse = (response: NodeJS.ReadableStream) => {
    if (reads) response.on('data', () => first.resolve());
    response.on('error', () => undefined);
  };
  if (protocol === 'http1') {
    const call = request({ port: gateway.port, method: 'POST', path: '/g', agent: false }, onResponse);
    call.on('error', () => undefined);
    if (ended) call.end(body);
    else call.write(body);
    return { firstPiece: first.promise, leave: () => call.destroy() };
  }
  const session: ClientHttp2Session = connect(gateway.origin);
  session.on('error', () => undefined);
  const stream = session.request({ ':method': 'POST', ':path': '/g' });
  onResponse(stream);
  if (ended) stream.end(body);
  else stream.write(body);
  return { firstPiece: first.promise, leave: () => session.destroy() };
}
