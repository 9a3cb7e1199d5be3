import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrowingBytes } from './growing-bytes.ts';

/** The memory behind what was put together; of lengths for which Node has no pool. */
const roomOf = (bytes: GrowingBytes): number => bytes.view().buffer.byteLength;

function filled(expectedBytes: number, lengths: readonly number[]): GrowingBytes {
  const bytes = new GrowingBytes(expectedBytes);
  for (const length of lengths) bytes.append(Buffer.alloc(length, 'x'), 0, length);
  return bytes;
}

test('returns the appended bytes, whatever length was expected', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 10 });
  fc.assert(
    fc.property(pieces, fc.nat(1_000), (appended, expectedBytes) => {
      const bytes = new GrowingBytes(expectedBytes);
      for (const piece of appended) bytes.append(Buffer.from([...piece, 0]), 0, piece.length);
      expect(bytes.take()).toEqual(Buffer.concat(appended));
      expect(bytes.length).toBe(0);
    }),
  );
});

test('allocates once for the expected length', () => {
  const bytes = filled(100_000, [60_000]);
  const { buffer } = bytes.view();
  bytes.append(Buffer.alloc(40_000), 0, 40_000);
  expect(bytes.view().buffer).toBe(buffer);
  expect(buffer.byteLength).toBe(100_000);
});

test('allocates at most twice the appended bytes, whatever length was announced', () => {
  expect(roomOf(filled(Number.MAX_SAFE_INTEGER, [50_000]))).toBe(100_000);
  expect(roomOf(filled(Number.MAX_SAFE_INTEGER, [50_000, 50_001]))).toBe(200_002);
  expect(roomOf(filled(0, [50_000, 1]))).toBe(100_000);
  expect(roomOf(filled(-1, [50_000, 1]))).toBe(100_000);
});

test("frees outgrown and dropped memory at once, but never Node's shared pool", () => {
  const other = Buffer.from('somebody else');
  const bytes = filled(0, [10, 10, 50_000]);
  const outgrown = bytes.view().buffer;
  bytes.append(Buffer.alloc(1), 0, 1);
  expect(outgrown.byteLength).toBe(0);
  const dropped = bytes.view().buffer;
  bytes.free();
  expect([dropped.byteLength, bytes.length, bytes.take().length]).toEqual([0, 0, 0]);
  expect(other.toString()).toBe('somebody else');
});
