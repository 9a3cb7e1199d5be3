import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ask, OK, type RawEgress, startRawEgress, whole } from '../raw-egress.fixture.ts';

let egress: RawEgress;
beforeEach(async () => {
  egress = await startRawEgress();
});
afterEach(async () => {
  await egress.close();
});

const chunked = (rest: string) => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${rest}`;

describe('a response', () => {
  test.each([
    ['of a length', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc', 'abc'],
    ['of no length', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', ''],
    ['in chunks', chunked('1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n'), 'abc'],
    ['with trailers, which are ignored', chunked('1\r\na\r\n0\r\nx: y\r\nz:\r\n\r\n'), 'a'],
    ['without a body, as 204 says', 'HTTP/1.1 204 X\r\n\r\n', ''],
    ['that is compressed, as it comes', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\na', 'a'],
  ])('%s is read, and its connection is reused', async (_, text, body) => {
    egress.response = (socket) => socket.write(text);
    expect(await whole(ask(egress.client))).toBe(body);
    await new Promise(setImmediate);
    egress.response = (socket) => socket.write(OK);
    expect(await whole(ask(egress.client))).toBe('ok');
    expect(egress.sockets).toHaveLength(1);
  });

  test('is the same however it is cut', async () => {
    const text = chunked('1\r\na\r\n0A;x=y\r\nbcdefghijk\r\n0\r\nx: y\r\n\r\n');
    egress.response = async (socket) => {
      socket.setNoDelay();
      for (const byte of text) {
        socket.write(byte);
        await new Promise(setImmediate);
      }
    };
    expect(await whole(ask(egress.client))).toBe('abcdefghijk');
  });

  test.each([
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n'],
    ['no version', 'ICY 200 OK\r\n\r\n'],
    ['other protocols', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 0\r\n\r\n'],
    ['a NUL in a header', 'HTTP/1.1 200 OK\r\nx: a\0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na'],
    ['a length with a sign', 'HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\na'],
    ['a length beside chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['a chunk without a size', chunked(';x\r\n')],
    ['a chunk longer than its size', chunked('1\r\nab\r\n')],
    ['a line feed in an extension', chunked('1;\n\r\na\r\n')],
    ['trailers that are none', chunked('0\r\nno\r\n\r\n')],
    ['a head above 64 KiB', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(40_000)}`],
    ['trailers above 64 KiB', chunked(`0\r\n${'x: y\r\n'.repeat(40_000)}`)],
  ])('with %s is refused, and its connection is closed', async (_, text) => {
    egress.response = (socket) => socket.write(text);
    expect(await whole(ask(egress.client))).toMatch(/reset$/);
    egress.response = (socket) => socket.write(OK);
    expect(await whole(ask(egress.client))).toBe('ok');
    expect(egress.sockets).toHaveLength(2);
  });

  test('has repeated headers joined', async () => {
    egress.response = (socket) =>
      socket.write('HTTP/1.1 200 OK\r\nX-A: 1\r\nx-ab: no\r\nx-a:\t2 \r\nx-c: x-b: no\r\ncontent-length: 0\r\n\r\n');
    const head = await ask(egress.client).head();
    if (head.kind === 'failure') throw new Error(head.result);
    expect(['x-a', 'x-b', 'x-c'].map((name) => head.header(name))).toEqual(['1, 2', undefined, 'x-b: no']);
  });
});
