import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ResponseReader } from './response-reader.ts';

interface Answer {
  status?: number;
  /** Of the headers that are asked for. */
  headers: (string | undefined)[];
  body: string;
  end: 'none' | 'reusable' | 'last' | 'malformed';
}

const ASKED = ['content-type', 'x-a', 'x-b'];

function readCut(bytes: Buffer, cuts: readonly number[], closes = false): Answer {
  const answer: Answer = { headers: [], body: '', end: 'none' };
  const reader = new ResponseReader({
    onHead(head) {
      answer.status = head.status;
      answer.headers = ASKED.map((name) => head.header(name));
    },
    onBody(from, start, end) {
      if (end <= start) throw new Error('nothing is no piece');
      answer.body += from.toString('latin1', start, end);
    },
    onEnd(reusable) {
      if (answer.end !== 'none') throw new Error('ended twice');
      answer.end = reusable ? 'reusable' : 'last';
    },
  });
  reader.begin();
  let start = 0;
  for (const cut of [...new Set(cuts)].sort((a, b) => a - b).concat(bytes.length)) {
    if (!reader.push(bytes.subarray(start, cut))) return { ...answer, end: 'malformed' };
    start = cut;
  }
  if (closes && answer.end === 'none' && !reader.finish()) answer.end = 'malformed';
  return answer;
}

const read = (text: string, closes = false) => readCut(Buffer.from(text, 'latin1'), [], closes);

const reason = fc.constantFrom('', ' ', ' OK', ' Not  Found \xe9');
const field = fc.tuple(
  fc.constantFrom('x-a', 'X-B', 'x-ab', 'content-type', 'Content-Type'),
  fc.constantFrom('', ' ', ' \t', '  '),
  fc.constantFrom('', 'a', 'a, b', 'a:b', 'x-a: c', '\xe9\xff', 'close'),
);
const fields = fc
  .array(field, { maxLength: 5 })
  .map((all) => all.map(([name, gap, value]) => `${name}:${gap}${value}\r\n`));
const data = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => Buffer.from(text).toString('latin1'));
const extension = fc.constantFrom('', '', ';a', ';a=b', ';a="b c"');
const chunks = fc
  .tuple(fc.array(fc.tuple(data, extension, fc.boolean()), { maxLength: 6 }), extension, fields)
  .map(([pieces, last, trailers]) => {
    const sent = pieces.filter(([piece]) => piece !== '');
    const framed = sent.map(([piece, more, padded]) => {
      const size = piece.length.toString(16);
      return `${padded ? `0${size.toUpperCase()}` : size}${more}\r\n${piece}\r\n`;
    });
    return `transfer-encoding: chunked\r\n\r\n${framed.join('')}0${last}\r\n${trailers.join('')}\r\n`;
  });
const framedBody = fc.oneof(
  data.map((body) => `Content-Length: ${body.length}\r\n\r\n${body}`),
  chunks,
  data.map((body) => `connection: close\r\n\r\n${body}`),
);
const interim = fc.array(
  fc.constantFrom('HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 102 Processing\r\nx-a: early\r\n\r\n'),
  {
    maxLength: 2,
  },
);
const answers = fc
  .tuple(interim, fc.integer({ min: 200, max: 599 }), reason, fields, framedBody)
  .filter(([, status]) => status !== 204 && status !== 304)
  .map(([before, status, words, head, body]) =>
    Buffer.from(`${before.join('')}HTTP/1.1 ${status}${words}\r\n${head.join('')}${body}`, 'latin1'),
  );
const cutPoints = fc.array(fc.nat({ max: 600 }), { maxLength: 20 });

describe('reading an answer', () => {
  test('gives the same however it is cut', () => {
    fc.assert(
      fc.property(answers, cutPoints, (bytes, points) => {
        const whole = readCut(bytes, [], true);
        expect(['reusable', 'last']).toContain(whole.end);
        const cuts = points.map((point) => point % (bytes.length + 1));
        expect(readCut(bytes, cuts, true)).toEqual(whole);
        const single = Array.from({ length: bytes.length }, (_, at) => at);
        expect(readCut(bytes, single, true)).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });

  test('never throws, whatever comes', () => {
    const edited = fc
      .tuple(answers, fc.array(fc.tuple(fc.nat({ max: 600 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }))
      .map(([bytes, edits]) => {
        const changed = Buffer.from(bytes);
        for (const [at, byte] of edits) changed[at % changed.length] = byte;
        return changed;
      });
    const garbage = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(edited, garbage), cutPoints, (bytes, points) => {
        const cuts = points.map((point) => point % (bytes.length + 1));
        expect(readCut(bytes, cuts, true)).toEqual(readCut(bytes, [], true));
      }),
      { numRuns: 2000 },
    );
  });

  test.each<[string, string, Partial<Answer>]>([
    ['of a length', 'content-length: 3\r\n\r\nabc', { body: 'abc', end: 'reusable' }],
    ['of no length', 'content-length: 0\r\n\r\n', { body: '', end: 'reusable' }],
    [
      'in chunks',
      'transfer-encoding: Chunked\r\n\r\n1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n',
      { body: 'abc', end: 'reusable' },
    ],
    [
      'with trailers',
      'transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: y\r\nz:\r\n\r\n',
      { body: 'a', end: 'reusable' },
    ],
    ['until the connection ends', '\r\nabc', { body: 'abc', end: 'last' }],
    ['that ends the connection', 'Connection: Close\r\ncontent-length: 1\r\n\r\na', { body: 'a', end: 'last' }],
    ['cut short', 'content-length: 4\r\n\r\nabc', { body: 'abc', end: 'malformed' }],
    ['cut short in its chunks', 'transfer-encoding: chunked\r\n\r\n4\r\nabc', { body: 'abc', end: 'malformed' }],
    ['with more behind it than it says', 'content-length: 3\r\n\r\nabcHTTP', { body: 'abc', end: 'malformed' }],
  ])('%s', (_, rest, expected) => {
    expect(read(`HTTP/1.1 200 OK\r\n${rest}`, true)).toMatchObject({ status: 200, ...expected });
  });

  test.each([204, 304])('without a body, as %i says', (status) => {
    expect(read(`HTTP/1.1 ${status} X\r\ncontent-length: 5\r\n\r\n`)).toMatchObject({
      status,
      body: '',
      end: 'reusable',
    });
  });

  test.each([
    ['an older version', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['no version', 'ICY 200 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['other protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
    ['line feeds alone', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n\r\n\r\n'],
    ['a folded header', 'HTTP/1.1 200 OK\r\nx: a\r\n b\r\n\r\n'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 0\r\n\r\n'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
    ['a NUL in a header', 'HTTP/1.1 200 OK\r\nx: a\0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na'],
    ['a length with a sign', 'HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\na'],
    ['a length beside chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['another coding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n'],
    ['a chunk without a size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n;x\r\n'],
    ['a chunk of too many digits', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'0'.repeat(14)}\r\n`],
    ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n'],
    ['an endless extension', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${'x'.repeat(5000)}\r\n`],
    ['a line feed in an extension', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;\n\r\na\r\n'],
    ['trailers that are none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nno\r\n\r\n'],
    ['an endless head', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(12_000)}`],
    ['endless trailers', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(12_000)}`],
  ])('refuses %s', (_, text) => {
    expect(read(text).end).toBe('malformed');
  });

  test('expects nothing before it is told to, and nothing after the end', () => {
    const reader = new ResponseReader({ onHead: () => undefined, onBody: () => undefined, onEnd: () => undefined });
    const answer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    expect(reader.push(answer)).toBe(false);
    reader.begin();
    expect(reader.push(answer)).toBe(true);
    expect(reader.push(answer)).toBe(false);
  });

  test('joins headers that come twice, and finds no others', () => {
    const text = 'HTTP/1.1 200 OK\r\nX-A: 1\r\nx-ab: no\r\nx-a:\t2 \r\nx-c: x-b: no\r\ncontent-length: 0\r\n\r\n';
    expect(read(text).headers).toEqual([undefined, '1, 2', undefined]);
  });
});

describe('node:http', () => {
  let folder = '';
  let toSend: Buffer = Buffer.alloc(0);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(toSend));
  });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gw-reader-'));
    server.listen(join(folder, 's'));
    await once(server, 'listening');
  });
  afterAll(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  function readByNode(): Promise<Pick<Answer, 'status' | 'headers' | 'body'>> {
    return new Promise((resolve, reject) => {
      const asked = request({ socketPath: join(folder, 's'), method: 'POST', agent: false }, (response) => {
        const { statusCode: status = 0, headersDistinct } = response;
        const headers = ASKED.map((name) => headersDistinct[name]?.join(', '));
        let body = '';
        response.setEncoding('latin1').on('data', (piece) => {
          body += piece;
        });
        response.on('end', () => resolve({ status, headers, body })).on('error', reject);
      });
      asked.on('error', reject).end();
    });
  }

  test('reads the same', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async (bytes) => {
        toSend = bytes;
        const { end: _, ...ours } = readCut(bytes, [], true);
        expect(ours).toEqual(await readByNode());
      }),
      { numRuns: 300 },
    );
  });
});
