import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ask, closed, OK, type RawEgress, startRawEgress, whole } from '../raw-egress.fixture.ts';
import { FAILURES } from './provider-failure.ts';

let egress: RawEgress;
beforeEach(async () => {
  egress = await startRawEgress();
});
afterEach(async () => {
  await egress.close();
});

describe('a call', () => {
  test('reads ahead up to its bound, and everything when it is read', async () => {
    const bytes = 20_000_000;
    let written = 0;
    egress.response = async (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`);
      const piece = Buffer.alloc(10_000, 'x');
      while (written < bytes) {
        written += piece.length;
        if (!socket.write(piece)) await once(socket, 'drain');
      }
    };
    const call = ask(egress.client);
    await call.head();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(written).toBeLessThan(2_000_000);
    expect((await whole(call)).length).toBe(bytes);
    egress.response = (socket) => socket.write(OK);
    expect(await whole(ask(egress.client))).toBe('ok');
    expect(egress.sockets).toHaveLength(1);
  });

  test.each([
    ['head', ''],
    ['body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'],
  ])('fails at its limit while it waits for its %s', async (_, text) => {
    egress.response = (socket) => socket.write(text);
    const call = ask(egress.client);
    call.limit(60, FAILURES.firstByte);
    const startedMs = performance.now();
    expect(await whole(call)).toContain('first_byte_timeout');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(59);
    await closed(egress.sockets[0]);
  });

  test('may have its limit extended', async () => {
    egress.response = (socket) => setTimeout(() => socket.write(OK), 150);
    const call = ask(egress.client);
    call.limit(50, FAILURES.deadline);
    call.limit(5_000, FAILURES.deadline);
    expect(await whole(call)).toBe('ok');
  });

  test('fails for silence only while its reader waits', async () => {
    egress.response = (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf');
    const call = ask(egress.client);
    await call.head();
    call.limitSilence(60, FAILURES.stall);
    expect((await call.read()).toString()).toBe('half');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(call.isOver).toBe(false);
    const startedMs = performance.now();
    expect(await call.read()).toBe(FAILURES.stall);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(59);
  });
});
