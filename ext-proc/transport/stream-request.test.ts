import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../../test/fixtures/cpu-time.ts';
import { StreamRequestReader } from './stream-request.ts';

const reader = () => new StreamRequestReader('x-gw-stream');
const line = fc.stringMatching(/^[!-~ ]{0,30}$/);
const name = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,12}$/).filter((text) => !FRAMING.test(text));
const FRAMING = /^(?:content-length|transfer-encoding|x-gw-stream)$/i;
const headers = fc.array(
  fc.tuple(name, line).map(([key, value]) => `${key}: ${value}\r\n`),
  { maxLength: 5 },
);

const lengthBody = fc
  .uint8Array({ maxLength: 200 })
  .map((bytes) => ({ header: `Content-Length: ${bytes.length}\r\n`, body: Buffer.from(bytes) }));
const chunk = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.constantFrom('', ';a=b', ' ; "c"'))
  .map(([bytes, extension]) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`), bytes, Buffer.from('\r\n')]),
  );
const chunkedBody = fc.tuple(fc.array(chunk, { maxLength: 4 }), headers).map(([chunks, trailers]) => ({
  header: 'transfer-encoding: chunked\r\n',
  body: Buffer.concat([...chunks, Buffer.from(`0\r\n${trailers.join('')}\r\n`)]),
}));
const noBody = fc.constant({ header: '', body: Buffer.alloc(0) });

const requests = fc.array(
  fc
    .record({ id: fc.stringMatching(/^[A-Za-z0-9_-]{0,22}$/), before: headers, after: headers })
    .chain((head) => fc.oneof(lengthBody, chunkedBody, noBody).map((framing) => ({ ...head, ...framing }))),
  { maxLength: 4 },
);
const cuts = fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 });

function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

describe('StreamRequestReader', () => {
  test('finds what each request names, however the bytes are cut and whenever it is asked', () => {
    fc.assert(
      fc.property(requests, cuts, fc.boolean(), (sent, sizes, asksAtOnce) => {
        const bytes = Buffer.concat(
          sent.flatMap(({ id, before, after, header, body }) => [
            Buffer.from(`POST / HTTP/1.1\r\n${before.join('')}X-GW-Stream: ${id}\r\n${after.join('')}${header}\r\n`),
            body,
          ]),
        );
        const reading = reader();
        const found: string[] = [];
        const ask = () => {
          for (let id = reading.next(); id !== undefined; id = reading.next()) found.push(id);
        };
        for (const piece of cut(bytes, sizes)) {
          reading.push(piece);
          if (asksAtOnce) ask();
        }
        ask();
        expect(reading.malformed).toBe(false);
        expect(found).toEqual(sent.map(({ id }) => id));
      }),
    );
  });

  test('one that names no stream is a request all the same', () => {
    const reading = reader();
    reading.push(Buffer.from('GET / HTTP/1.1\r\nhost: \xff\r\n\r\n', 'latin1'));
    expect(reading.next()).toBe('');
  });

  test.each([
    ['another version', 'GET / HTTP/1.0\r\n'],
    ['no target', 'GET HTTP/1.1\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an empty line first', '\r\n'],
    ['a line without CR', 'GET / HTTP/1.1\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\n: a\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nhost : a\r\n'],
    ['a header over two lines', 'GET / HTTP/1.1\r\na: b\r\n c\r\n'],
    ['a CR within a value', 'GET / HTTP/1.1\r\na: b\rc\r\n'],
    ['a zero byte', 'GET / HTTP/1.1\r\na: \0\r\n'],
    ['two lengths', 'GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n'],
    ['a length that is none', 'GET / HTTP/1.1\r\ncontent-length: +1\r\n\r\n'],
    ['a length beyond counting', 'GET / HTTP/1.1\r\ncontent-length: 1000000000000000\r\n\r\n'],
    ['length and chunks', 'GET / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['another coding', 'GET / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n'],
    ['a chunk without a size', 'GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n\r\n'],
    ['a negative chunk', 'GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n'],
    ['a chunk that is longer than it says', 'GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n'],
    ['a trailer that is none', 'GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nno trailer\r\n'],
  ])('%s is malformed, for good', (_, text) => {
    const reading = reader();
    reading.push(Buffer.from(text));
    reading.next();
    expect(reading.malformed).toBe(true);
    reading.push(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    expect(reading.next()).toBeUndefined();
    expect(reading.malformed).toBe(true);
  });

  test('bounds a head, one that never ends, and what waits behind an answer', () => {
    const long = `GET / HTTP/1.1\r\nhost: ${'a'.repeat(200_000)}\r\n\r\n`;
    const reading = reader();
    reading.push(Buffer.from(long));
    expect(reading.next()).toBe('');
    reading.push(Buffer.from(long));
    expect(reading.malformed).toBe(false);
    reading.push(Buffer.from(long));
    expect(reading.malformed).toBe(true);

    for (const filler of ['a', 'a: b\r\n']) {
      const endless = reader();
      endless.push(Buffer.from('GET / HTTP/1.1\r\n'));
      for (let bytes = 0; bytes < 300_000; bytes += 6_000) {
        endless.push(Buffer.from(filler.repeat(6_000 / filler.length)));
        endless.next();
      }
      expect(endless.malformed).toBe(true);
    }
  });

  test('garbage, and requests with bytes changed, never throw', () => {
    const valid = Buffer.from(
      'POST / HTTP/1.1\r\nx-gw-stream: a\r\ntransfer-encoding: chunked\r\n\r\n2;x\r\nab\r\n0\r\nt: 1\r\n\r\n'.repeat(2),
    );
    const changed = fc
      .array(fc.tuple(fc.nat(valid.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 6 })
      .map((changes) => {
        const bytes = Buffer.from(valid);
        for (const [at, byte] of changes) bytes[at] = byte;
        return bytes;
      });
    const garbage = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(changed, garbage), cuts, (bytes, sizes) => {
        const whole = reader();
        whole.push(bytes);
        while (whole.next() !== undefined);
        const pieces = reader();
        for (const piece of cut(bytes, sizes)) {
          pieces.push(piece);
          while (pieces.next() !== undefined);
        }
        expect(pieces.malformed).toBe(whole.malformed);
      }),
    );
  });

  test('a head that comes byte by byte is looked at once', () => {
    const reading = reader();
    const found: string[] = [];
    const tookMs = cpuMsOf(() => {
      for (const piece of cut(Buffer.from(`GET / HTTP/1.1\r\nhost: ${'a'.repeat(200_000)}\r\n\r\n`), [1])) {
        reading.push(piece);
        const id = reading.next();
        if (id !== undefined) found.push(id);
      }
    });
    expect(found).toEqual(['']);
    // Joining what came at each byte would copy 20 GB.
    expect(tookMs).toBeLessThan(2_000);
  });

  test('blanks before a value that is none are looked at once', () => {
    const reading = reader();
    const tookMs = cpuMsOf(() => {
      reading.push(Buffer.from(`GET / HTTP/1.1\r\na:${' '.repeat(200_000)}\0\r\n\r\n`));
      expect(reading.next()).toBeUndefined();
    });
    expect(reading.malformed).toBe(true);
    // Trying each of their ends would take minutes.
    expect(tookMs).toBeLessThan(2_000);
  });
});
