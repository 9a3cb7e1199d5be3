import { expect, test } from 'vitest';
import { copyOf, lend } from '#packages/http2-server/borrowed-bytes.ts';
import { ProcessingResponse } from '#proto/generated/ext_proc.ts';
import { GrpcMessageReader } from './grpc-frame.ts';
import { encodeResponse } from './response-messages.ts';

/** Decodes with the generated code, which is independent of the encoder under test. */
function read(bytes: Buffer) {
  const messages: ProcessingResponse[] = [];
  const reader = new GrpcMessageReader(4 * 1024 * 1024, {
    message: (all, start, end) => messages.push(ProcessingResponse.decode(copyOf(all, start, end))),
  });
  expect(reader.push(lend(bytes), 0, bytes.length)).toBeUndefined();
  return messages.map(({ streamedImmediateResponse }) => streamedImmediateResponse);
}

const HEADERS = [
  [':status', '200'],
  ['x-empty', ''],
  ['x-latin', 'caf\u00e9'],
  ['x-long', 'a'.repeat(200)],
] as const;

const asRead = HEADERS.map(([key, value]) => ({ key, rawValue: Buffer.from(value, 'latin1') }));

// Sizes around those at which a length takes one byte more, and the largest in-place body.
test.each([1, 110, 120, 127, 128, 16_370, 16_384, 256 * 1024])('an answer with %i bytes of body', (bytes) => {
  const body = Buffer.alloc(bytes, 0xe9);
  for (const ended of [true, false]) {
    const [head, rest, ...more] = read(encodeResponse(HEADERS.flat(), body, ended));
    expect(head?.headersResponse?.headers?.headers).toEqual(asRead);
    expect(head?.headersResponse?.endOfStream ?? false).toBe(false);
    expect(body.equals(rest?.bodyResponse?.body ?? Buffer.alloc(0))).toBe(true);
    expect(rest?.bodyResponse?.endOfStream ?? false).toBe(ended);
    expect(more).toEqual([]);
  }
});

test('an answer without a body is one message', () => {
  for (const ended of [true, false]) {
    const messages = read(encodeResponse(HEADERS.flat(), undefined, ended));
    expect(messages.map((message) => message?.headersResponse?.endOfStream ?? false)).toEqual([ended]);
    expect(messages[0]?.headersResponse?.headers?.headers).toEqual(asRead);
  }
});
