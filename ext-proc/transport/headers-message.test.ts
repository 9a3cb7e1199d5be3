import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProcessingRequest } from '../../proto/generated/ext_proc.ts';
import { readHeadersMessage } from './headers-message.ts';

const encode = (request: ProcessingRequest) => Buffer.from(ProcessingRequest.encode(request).finish());

const attributes = { 'envoy.filters.http.ext_proc': { fields: { 'source.address': { stringValue: '192.0.2.1:1' } } } };

describe('readHeadersMessage', () => {
  test('reads what the generated decoder reads', () => {
    const name = fc.stringMatching(/^[!-~]{1,200}$/);
    const header = fc.record({ key: name, rawValue: fc.uint8Array({ minLength: 1, maxLength: 300 }) });
    const request = fc.record({
      headers: fc.array(header, { maxLength: 40 }),
      endOfStream: fc.boolean(),
      hasAttributes: fc.boolean(),
    });
    fc.assert(
      fc.property(request, ({ headers, endOfStream, hasAttributes }) => {
        const list = headers.map(({ key, rawValue }) => ({ key, rawValue: Buffer.from(rawValue) }));
        const message = encode({
          requestHeaders: { headers: { headers: list }, endOfStream },
          ...(hasAttributes ? { attributes } : {}),
          protocolConfig: {},
        });
        expect(readHeadersMessage(message)).toEqual(ProcessingRequest.decode(message));
      }),
    );
  });

  test('an empty value is empty, and an absent name too', () => {
    const message = encode({ requestHeaders: { headers: { headers: [{ key: 'x-a' }, {}] } } });
    expect(readHeadersMessage(message)?.requestHeaders?.headers?.headers).toEqual([
      { key: 'x-a', rawValue: Buffer.alloc(0) },
      { key: '', rawValue: Buffer.alloc(0) },
    ]);
  });

  test('leaves other messages to the generated decoder', () => {
    for (const message of [encode({ requestBody: {} }), encode({ attributes }), Buffer.alloc(0)]) {
      expect(readHeadersMessage(message)).toBeUndefined();
    }
  });

  test('steps over fields it does not know', () => {
    // request_headers { 15: varint, headers { 2: "", headers { key: "a", 2: "v", raw_value: "b" } } }
    const header = [0x0a, 1, 0x61, 0x12, 1, 0x76, 0x1a, 1, 0x62];
    const map = [0x12, 0, 0x0a, header.length, ...header];
    const fields = [0x78, 1, 0x0a, map.length, ...map];
    const read = readHeadersMessage(Buffer.from([0x12, fields.length, ...fields]));
    expect(read?.requestHeaders?.headers?.headers).toEqual([{ key: 'a', rawValue: Buffer.from('b') }]);
  });

  test.each([[[0x12, 9, 0x0a]], [[0x12, 2, 0x0a, 9]], [[0x12, 4, 0x0a, 2, 0x0a, 9]]])(
    'refuses a field that is longer than its message: %j',
    (bytes) => {
      expect(() => readHeadersMessage(Buffer.from(bytes))).toThrow();
    },
  );
});
