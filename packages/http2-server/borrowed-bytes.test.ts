import { expect, expectTypeOf, test } from 'vitest';
import { type BorrowedBytes, copyOf, lend } from './borrowed-bytes.ts';

test('borrowed bytes cannot be kept as a Buffer or a Uint8Array; the type check of `npm run check` fails otherwise', () => {
  expectTypeOf<BorrowedBytes>().not.toExtend<Uint8Array>();
  expectTypeOf<BorrowedBytes>().not.toExtend<Buffer>();
  expectTypeOf<Buffer>().not.toExtend<BorrowedBytes>();
  type Sharing = Extract<keyof BorrowedBytes, 'subarray' | 'slice' | 'buffer' | 'valueOf'>;
  expectTypeOf<Sharing>().toEqualTypeOf<never>();
});

test('lending costs no copy, and a copy is not changed by the next read', () => {
  const memory = Buffer.from('first');
  const bytes = lend(memory);
  expect(bytes).toBe(memory);
  const kept = copyOf(bytes, 1, 4);
  memory.write('other');
  expect(String(kept)).toBe('irs');
});
