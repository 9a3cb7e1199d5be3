import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PlainText } from './json-plain-text.ts';

const isPlain = (value: number) => value >= 0x20 && value !== 0x22 && value !== 0x5c;

test('finds the same end of plain text as a byte-by-byte search, at any alignment', () => {
  const plain = fc.integer({ min: 0, max: 255 }).filter(isPlain);
  const long = fc.array(plain, { minLength: 20, maxLength: 200 });
  fc.assert(
    fc.property(
      long,
      fc.integer({ min: 0, max: 255 }),
      long,
      fc.nat(7),
      fc.nat(250),
      (before, byte, after, offset, at) => {
        const text = [...before, byte, ...after];
        const memory = Buffer.from([...Array<number>(offset).fill(0x22), ...text, 0x61, 0x62, 0x63]);
        const bytes = memory.subarray(offset, offset + text.length);
        const start = Math.min(at, text.length);
        const found = text.findIndex((byte, index) => index >= start && !isPlain(byte));
        expect(new PlainText(bytes).endFrom(start)).toBe(found === -1 ? text.length : found);
      },
    ),
    { numRuns: 2000 },
  );
});

test('finds each byte that ends plain text, at each place in a word', () => {
  for (let byte = 0; byte < 256; byte++) {
    for (let place = 0; place < 8; place++) {
      const bytes = Buffer.alloc(100, 'x');
      bytes[64 + place] = byte;
      expect(new PlainText(bytes).endFrom(1)).toBe(isPlain(byte) ? 100 : 64 + place);
    }
  }
});
