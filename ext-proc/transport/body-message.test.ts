import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProcessingRequest } from '../../proto/generated/ext_proc.ts';
import { readBodyMessage } from './body-message.ts';

const encode = (request: ProcessingRequest) => Buffer.from(ProcessingRequest.encode(request).finish());

describe('readBodyMessage', () => {
  test('reads what the generated decoder reads', () => {
    const piece = fc.record({ body: fc.uint8Array({ maxLength: 5000 }), endOfStream: fc.boolean() });
    fc.assert(
      fc.property(piece, ({ body, endOfStream }) => {
        const message = encode({ requestBody: { body: Buffer.from(body), endOfStream } });
        expect(readBodyMessage(message)).toEqual(ProcessingRequest.decode(message).requestBody);
      }),
    );
  });

  test('leaves other messages, and those with more in them, to the generated decoder', () => {
    const both = encode({ requestBody: { body: Buffer.from('x') }, protocolConfig: {} });
    for (const message of [encode({ requestHeaders: {} }), encode({ requestTrailers: {} }), both, Buffer.alloc(0)]) {
      expect(readBodyMessage(message)).toBeUndefined();
    }
  });

  test('steps over fields it does not know', () => {
    const message = Buffer.from([0x22, 6, 0x1a, 1, 0x7a, 0x0a, 1, 0x78]);
    message[7] = 0x79;
    expect(readBodyMessage(message)?.body?.toString()).toBe('y');
  });

  test('refuses a piece that is longer than its message', () => {
    expect(() => readBodyMessage(Buffer.from([0x22, 3, 0x0a, 9, 0x78]))).toThrow();
  });

  test('does not copy a large piece, and keeps no large memory alive for a small one', () => {
    const large = encode({ requestBody: { body: Buffer.alloc(100_000, 'x') } });
    expect(readBodyMessage(large)?.body?.buffer).toBe(large.buffer);
    const small = encode({ requestBody: { body: Buffer.from('x') } });
    const read = Buffer.alloc(65_536);
    small.copy(read);
    expect(readBodyMessage(read.subarray(0, small.length))?.body?.buffer).not.toBe(read.buffer);
  });
});
