import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ask, closed, HEAD, OK, type RawEgress, startRawEgress, whole } from '../raw-egress.fixture.ts';
import { ProviderClient } from './provider-client.ts';
import { FAILURES } from './provider-failure.ts';

let egress: RawEgress;
beforeEach(async () => {
  egress = await startRawEgress();
});
afterEach(async () => {
  vi.useRealTimers();
  await egress.close();
});

/** A client of another server, which does this with each connection. */
async function clientOf(happens: (socket: Socket) => void): Promise<ProviderClient> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    happens(socket);
  });
  server.listen(`${egress.socketPath}.other`);
  await once(server, 'listening');
  const client = new ProviderClient(`${egress.socketPath}.other`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  return client;
}

describe('a call', () => {
  test.each([0, 10, 16 * 1024, 16 * 1024 + 1, 1024 * 1024, 1024 * 1024 + 1, 3_000_000])(
    'returns the whole body of %i bytes',
    async (bytes) => {
      const body = 'abcdefg'.repeat(bytes).slice(0, bytes);
      let arrived: Buffer | undefined;
      egress.response = (socket, request) => {
        arrived = request;
        socket.write(OK);
      };
      expect(await whole(ask(egress.client, body))).toBe('ok');
      expect(arrived?.toString() === `${HEAD}${bytes}\r\n\r\n${body}`).toBe(true);
    },
  );

  test.each([3, 20_000, 400_000])(
    'of six pieces, the longest of %i bytes, reports once that the whole request was sent',
    async (bytes) => {
      const pieces = [1, bytes, 1, bytes, bytes, 1].map((length) => Buffer.alloc(length, 'x'));
      const bodyBytes = pieces.reduce((sum, { length }) => sum + length, 0);
      let arrivedBytes = 0;
      const sent = vi.fn<() => void>();
      egress.response = async (socket, request) => {
        arrivedBytes = request.length - `${HEAD}${bodyBytes}\r\n\r\n`.length;
        await vi.waitUntil(() => sent.mock.calls.length > 0, { timeout: 30_000 });
        socket.write(OK);
      };
      const call = egress.client.call({ path: '/', headers: ['host', 'x'], body: pieces, bodyBytes }, { sent });
      expect(await whole(call)).toBe('ok');
      expect([arrivedBytes, sent.mock.calls.length, call.wasSent]).toEqual([bodyBytes, 1, true]);
    },
  );

  test('with invalid headers is not sent', async () => {
    expect(await egress.client.call({ path: '/', headers: undefined, body: [], bodyBytes: 0 }).head()).toBe(
      FAILURES.unsendable,
    );
    expect(egress.sockets).toEqual([]);
  });

  test.each([
    ['no answer', ''],
    ['half a head', 'HTTP/1.1 200 OK\r\nx'],
    ['something else', 'ICY 200 OK\r\n\r\n'],
    ['an interim answer only', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('fails as reset if the connection brings %s, and is not repeated', async (_, text) => {
    egress.response = (socket) => socket.end(text);
    expect(await ask(egress.client).head()).toBe(FAILURES.reset);
    expect(egress.sockets).toHaveLength(1);
  });

  test('returns what came before a reset', async () => {
    egress.response = (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf');
    expect(await whole(ask(egress.client))).toBe('half, then reset');
  });

  test('ends with its connection if the response has no length', async () => {
    egress.response = (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it');
    expect(await whole(ask(egress.client))).toBe('all of it');
  });

  test('that is aborted closes its connection, and affects no later call', async () => {
    egress.response = () => undefined;
    const call = ask(egress.client);
    await expect.poll(() => egress.sockets.length).toBe(1);
    call.abort(FAILURES.abandoned);
    expect(await call.head()).toBe(FAILURES.abandoned);
    await closed(egress.sockets[0]);
    egress.response = (socket) => socket.write(OK);
    const next = ask(egress.client);
    call.abort(FAILURES.abandoned);
    call.release(false);
    expect(await whole(next)).toBe('ok');
  });

  test('cannot affect its connection after its end', async () => {
    const first = ask(egress.client);
    expect(await whole(first)).toBe('ok');
    let finish: () => void = () => undefined;
    egress.response = (socket) => {
      finish = () => socket.write(OK);
    };
    const second = ask(egress.client);
    first.abort(FAILURES.abandoned);
    first.release(false);
    first.release(true);
    await new Promise((resolve) => setTimeout(resolve, 20));
    finish();
    expect(await whole(second)).toBe('ok');
    expect(egress.sockets).toHaveLength(1);
  });
});

describe('connections', () => {
  test('are reused, the last used one first', async () => {
    const both = [ask(egress.client), ask(egress.client)];
    expect(await Promise.all(both.map(whole))).toEqual(['ok', 'ok']);
    const used = new Set<Socket>();
    egress.response = (socket) => {
      used.add(socket);
      socket.write(OK);
    };
    for (let i = 0; i < 5; i++) expect(await whole(ask(egress.client))).toBe('ok');
    expect(egress.sockets).toHaveLength(2);
    expect(used.size).toBe(1);
  });

  test('are limited: other calls wait in order, unless they are aborted', async () => {
    const two = new ProviderClient(egress.socketPath, 2);
    const admitted: string[] = [];
    const finish: (() => void)[] = [];
    egress.response = (socket, request) => {
      admitted.push(request.toString().slice(-1));
      finish.push(() => socket.write(OK));
    };
    const calls = ['a', 'b', 'c', 'd', 'e'].map((name) => ask(two, name));
    await expect.poll(() => admitted.length).toBe(2);
    calls[2]?.abort(FAILURES.abandoned);
    calls[0]?.abort(FAILURES.abandoned);
    await expect.poll(() => admitted.length).toBe(3);
    finish[1]?.();
    await expect.poll(() => admitted.length).toBe(4);
    for (const one of finish.slice(2)) one();
    expect(await Promise.all(calls.map(whole))).toEqual(['abandoned', 'ok', 'abandoned', 'ok', 'ok']);
    expect(admitted.join('')).toBe('abde');
    expect(egress.sockets).toHaveLength(3);
    two.close();
  });

  test.each([
    ['said that it ends', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
    ['said more than its answer', `${OK}more`],
  ])('that %s are not reused', async (_, text) => {
    egress.response = (socket) => socket.write(text);
    expect(await whole(ask(egress.client))).toBe('ok');
    expect(await whole(ask(egress.client))).toBe('ok');
    expect(egress.sockets).toHaveLength(2);
    await closed(egress.sockets[0]);
  });

  test('that were answered before the request was written are not reused', async () => {
    const others: Socket[] = [];
    const other = await clientOf((socket) => {
      others.push(socket);
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno');
    });
    const call = ask(other, 'x'.repeat(5_000_000));
    expect(await call.head()).toMatchObject({ status: 413 });
    expect(await whole(call)).toBe('no');
    // A paused socket reads nothing, not even the end.
    others[0]?.resume();
    await closed(others[0]);
  });

  test.each<[string, (socket: Socket | undefined) => unknown]>([
    ['ended', (socket) => socket?.end()],
    ['broken', (socket) => socket?.destroy()],
    ['spoken on', (socket) => socket?.write('HTTP/1.1 408 Request Timeout\r\n\r\n')],
  ])('that are %s while idle are dropped', async (_, happen) => {
    expect(await whole(ask(egress.client))).toBe('ok');
    happen(egress.sockets[0]);
    await closed(egress.sockets[0]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    // A process that stood still has time-outs before what its sockets say.
    await new Promise(setImmediate);
    expect(await whole(ask(egress.client))).toBe('ok');
    expect(egress.sockets).toHaveLength(2);
  });

  test('that are idle for a minute are closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const aging = new ProviderClient(egress.socketPath);
    expect(await whole(ask(aging))).toBe('ok');
    await vi.advanceTimersByTimeAsync(55_000);
    expect(await whole(ask(aging))).toBe('ok');
    await vi.advanceTimersByTimeAsync(55_000);
    expect(egress.sockets.map((socket) => socket.closed)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(15_000);
    vi.useRealTimers();
    await closed(egress.sockets[0]);
    expect(await whole(ask(aging))).toBe('ok');
    expect(egress.sockets).toHaveLength(2);
    aging.close();
  });

  test('that cannot be made fail as not sent', async () => {
    const nowhere = new ProviderClient(`${egress.socketPath}.none`);
    expect(await ask(nowhere).head()).toBe(FAILURES.egressUnreachable);
    nowhere.close();
  });

  test('that Envoy closes with an unread request fail as not sent', async () => {
    expect(await whole(ask(egress.client))).toBe('ok');
    const [first] = egress.sockets;
    first?.pause();
    const call = ask(egress.client, 'x'.repeat(100_000));
    await new Promise((resolve) => setTimeout(resolve, 20));
    first?.destroy();
    expect(await call.head()).toBe(FAILURES.egressUnreachable);
    expect(egress.sockets).toHaveLength(1);
  });

  test.each([
    ['', 'HTTP/1.1 200', 'reset'],
    [' without a length', 'HTTP/1.1 200 OK\r\n\r\nhalf', 'half, then reset'],
  ])('that Envoy closes in the middle of a response%s fail as reset, whatever was unread', async (_, text, outcome) => {
    const hasty = await clientOf((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write(text, () => setTimeout(() => socket.destroy(), 20));
      });
    });
    expect(await whole(ask(hasty, 'x'.repeat(1_000_000)))).toBe(outcome);
  });

  test('that Envoy closes at the moment of a call never make it twice', async () => {
    const bodies: string[] = [];
    egress.response = (socket, request) => {
      bodies.push(request.toString().slice(-4));
      socket.write(OK);
    };
    let failed = 0;
    for (let round = 0; round < 100; round++) {
      const name = String(1000 + round);
      const result = await whole(ask(egress.client, name));
      if (result !== 'ok') {
        expect(result).toBe('egress_unreachable');
        failed++;
      }
      expect(bodies.filter((body) => body === name)).toHaveLength(result === 'ok' ? 1 : 0);
      const last = egress.sockets.at(-1);
      // Some ends arrive before the next call is written, others after.
      if (round % 3 === 0) last?.destroy();
      else setImmediate(() => last?.destroy());
    }
    expect(failed).toBeLessThan(100);
  });

  test('end with the client, and none is made after', async () => {
    egress.response = () => undefined;
    const call = ask(egress.client);
    await expect.poll(() => egress.sockets.length).toBe(1);
    egress.client.close();
    expect(await call.head()).toBe(FAILURES.reset);
    await closed(egress.sockets[0]);
    expect(await ask(egress.client).head()).toBe(FAILURES.reset);
    expect(egress.sockets).toHaveLength(1);
  });
});
