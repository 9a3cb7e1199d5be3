import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copyOf, lend } from '#packages/http2-server/borrowed-bytes.ts';
import { type HeaderValue, ProcessingRequest } from '#proto/generated/ext_proc.ts';
import type { RequestHead } from './request-head.ts';
import { type BodyPiece, readRequestMessage } from './request-message.ts';

const encode = (request: ProcessingRequest) => Buffer.from(ProcessingRequest.encode(request).finish());

interface Heard {
  head?: RequestHead;
  body?: { readonly bytes: Buffer; readonly endOfStream: boolean };
  trailers?: true;
}

/** In the middle of other bytes, as it arrives. */
function read(message: Buffer): Heard {
  const heard: Heard = {};
  const around = Buffer.concat([Buffer.from([0x12, 0x7f]), message, Buffer.from([0x0a, 0x7f])]);
  readRequestMessage(lend(around), 2, 2 + message.length, {
    receiveHead: (head) => Object.assign(heard, { head }),
    receiveBody: ({ bytes, start, end, endOfStream }) =>
      Object.assign(heard, { body: { bytes: copyOf(bytes, start, end), endOfStream } }),
    receiveTrailers: () => Object.assign(heard, { trailers: true }),
  });
  return heard;
}

const attributes = (address: string) => ({
  'envoy.filters.http.other': { fields: { 'source.address': { stringValue: '203.0.113.9:9' } } },
  'envoy.filters.http.ext_proc': {
    fields: { 'source.port': { stringValue: '198.51.100.1:7' }, 'source.address': { stringValue: address } },
  },
});

/** The headers as the generated decoder reads them, in the form of a head. */
function expectedHeaders(headers: readonly HeaderValue[]): Map<string, string> {
  const values = new Map<string, string[]>();
  for (const { key = '', rawValue } of headers) {
    values.set(key, [...(values.get(key) ?? []), rawValue?.toString('latin1') ?? '']);
  }
  return new Map([...values].map(([key, all]) => [key, all.join(', ')]));
}

describe('headers', () => {
  const name = fc.oneof(fc.stringMatching(/^[!-~]{1,200}$/), fc.constantFrom(':path', ':method', 'x-request-id', 'a'));
  const header = fc.record({ key: name, rawValue: fc.uint8Array({ maxLength: 300 }) });
  const request = fc.record({
    headers: fc.array(header, { maxLength: 40 }),
    endOfStream: fc.boolean(),
    hasAttributes: fc.boolean(),
  });

  test('are what the generated decoder reads', () => {
    fc.assert(
      fc.property(request, ({ headers, endOfStream, hasAttributes }) => {
        const list = headers.map(({ key, rawValue }) => ({ key, rawValue: Buffer.from(rawValue) }));
        const message = encode({
          requestHeaders: { headers: { headers: list }, endOfStream },
          ...(hasAttributes ? { attributes: attributes('192.0.2.1:1') } : {}),
          protocolConfig: {},
        });
        const { head } = read(message);
        const expected = expectedHeaders(ProcessingRequest.decode(message).requestHeaders?.headers?.headers ?? []);
        expect([...(head?.headerNames() ?? [])].sort()).toEqual([...expected.keys()].sort());
        for (const [key, value] of expected) if (key !== 'host') expect(head?.header(key)).toBe(value);
        expect(head?.header('x-never-sent\0')).toBeUndefined();
        expect(head).toMatchObject({ bodiless: endOfStream, peerAddress: hasAttributes ? '192.0.2.1' : '' });
        expect(head?.path).toBe(expected.get(':path') ?? '');
      }),
    );
  });

  test('may come after the attributes', () => {
    const message = Buffer.concat([
      encode({ attributes: attributes('192.0.2.1:1') }),
      encode({ requestHeaders: { headers: { headers: [{ key: ':path', rawValue: Buffer.from('/x') }] } } }),
    ]);
    expect(read(message).head).toMatchObject({ path: '/x', peerAddress: '192.0.2.1' });
  });

  test('an empty value is empty, and an absent name too', () => {
    const { head } = read(encode({ requestHeaders: { headers: { headers: [{ key: 'x-a' }, {}] } } }));
    expect([head?.header('x-a'), head?.header(''), head?.header('x-b')]).toEqual(['', '', undefined]);
  });

  test('unknown fields are skipped', () => {
    // request_headers { 15: varint, headers { 2: "", headers { key: "a", 2: "v", raw_value: "b" } }
    // }
    const one = [0x0a, 1, 0x61, 0x12, 1, 0x76, 0x1a, 1, 0x62];
    const map = [0x12, 0, 0x0a, one.length, ...one];
    const fields = [0x78, 1, 0x0a, map.length, ...map];
    expect(read(Buffer.from([0x12, fields.length, ...fields])).head?.header('a')).toBe('b');
  });

  test.each([
    ['of the message', [0x12, 9, 0x0a]],
    ['of the headers', [0x12, 2, 0x0a, 9]],
    ['of the map', [0x12, 4, 0x0a, 2, 0x0a, 9]],
    ['of a header, and within the message', [0x12, 9, 0x0a, 4, 0x0a, 2, 0x0a, 4, 0x61, 0x61, 0x61]],
  ])('a field that reaches beyond the end %s is refused', (_, bytes) => {
    expect(() => read(Buffer.from(bytes))).toThrow(RangeError);
  });
});

describe('a piece of the body', () => {
  test('is what the generated decoder reads', () => {
    const piece = fc.record({ body: fc.uint8Array({ maxLength: 5000 }), endOfStream: fc.boolean() });
    fc.assert(
      fc.property(piece, fc.boolean(), ({ body, endOfStream }, hasMore) => {
        const sent = {
          requestBody: { body: Buffer.from(body), endOfStream },
          ...(hasMore ? { protocolConfig: {} } : {}),
        };
        const heard = read(encode(sent)).body;
        const expected = ProcessingRequest.decode(encode(sent)).requestBody;
        expect(heard?.bytes.equals(expected?.body ?? Buffer.alloc(0))).toBe(true);
        expect(heard?.endOfStream).toBe(expected?.endOfStream ?? false);
      }),
    );
  });

  test('may have fields that are not known', () => {
    expect(read(Buffer.from([0x22, 6, 0x1a, 1, 0x7a, 0x0a, 1, 0x79])).body?.bytes.toString()).toBe('y');
  });

  test('that is longer than its message is refused', () => {
    expect(() => read(Buffer.from([0x22, 3, 0x0a, 9, 0x78]))).toThrow(RangeError);
  });

  test('is not copied', () => {
    const message = encode({ requestBody: { body: Buffer.from('x') } });
    const pieces: BodyPiece[] = [];
    const receiveBody = (piece: BodyPiece) => pieces.push(piece);
    const ignored = () => undefined;
    readRequestMessage(lend(message), 0, message.length, {
      receiveBody,
      receiveHead: ignored,
      receiveTrailers: ignored,
    });
    message.write('y', message.indexOf('x'));
    expect(pieces.map(({ bytes, start, end }) => bytes.toString('latin1', start, end))).toEqual(['y']);
  });
});

test('trailers are reported', () => {
  expect(read(encode({ requestTrailers: {} }))).toEqual({ trailers: true });
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['attributes alone', encode({ attributes: attributes('192.0.2.1:1') })],
])('%s is no message', (_, message) => {
  expect(() => read(message)).toThrow('no known kind');
});

test('any bytes are either reported or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (random) => {
      try {
        read(Buffer.from(random));
      } catch (error) {
        expect(String(error)).toContain('ext_proc: ');
      }
    }),
  );
});
