import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unescapeText } from './json-text.ts';

function unescaped(literal: string): string {
  const bytes = Buffer.from(literal);
  return Buffer.from(unescapeText(bytes, 1, bytes.length - 1)).toString();
}

describe('unescapeText', () => {
  it('reads what JSON.parse reads, in UTF-8', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      fc.constantFrom(...'\\"\b\f\n\r\t\0\u07ff\u0800\uffff\u{10000}\u{10ffff}'),
    );
    fc.assert(
      fc.property(fc.string({ unit }), fc.boolean(), (text, upper) => {
        const hex = (character: string) => {
          const digits = character.charCodeAt(0).toString(16).padStart(4, '0');
          return `\\u${upper ? digits.toUpperCase() : digits}`;
        };
        expect(unescaped(JSON.stringify(text))).toBe(text);
        expect(unescaped(`"${text.replace(/[\s\S]/g, hex)}"`)).toBe(text);
      }),
      { numRuns: 500 },
    );
    expect(unescaped('"\\/"')).toBe('/');
  });
});
