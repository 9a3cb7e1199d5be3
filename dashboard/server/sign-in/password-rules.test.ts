import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passwordProblem, randomPassword } from './password-rules.ts';

describe('password rules', () => {
  it.each([
    ['', 'too_short'],
    ['elevenchars', 'too_short'],
    // Eleven characters from twelve code points.
    ['Zoe\u0308 is here', 'too_short'],
    // Twelve characters in 24 UTF-16 units.
    ['😀😁😂🤣😃😄😅😆😉😊😋😎', undefined],
    ['twelve chars', undefined],
    ['xy z'.repeat(64), undefined],
    ['xy z'.repeat(64).concat('!'), 'too_long'],
    ['x'.repeat(100_000), 'too_long'],
    ['Ada@Example.com', 'is_email'],
    [' ada@example.com ', 'is_email'],
    ['Password1234', 'too_common'],
    ['123456789012', 'too_common'],
    ['aaaaaaaaaaaaaaaa', 'too_common'],
    ['abababababababab', 'too_common'],
  ])('%j: %s', (password, problem) => {
    expect(passwordProblem(password, 'ada@example.com')).toBe(problem);
  });

  it('accept generated passwords, which are always different', () => {
    const made = Array.from({ length: 500 }, randomPassword);
    expect(new Set(made).size).toBe(500);
    for (const password of made) {
      expect(password).toMatch(/^([2-9a-hjkmnp-z]{4}-){4}[2-9a-hjkmnp-z]{4}$/);
      expect(passwordProblem(password, 'ada@example.com')).toBeUndefined();
    }
  });

  it('count characters, however they are composed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        const composed = passwordProblem(text.normalize('NFC'), 'ada@example.com');
        expect(passwordProblem(text.normalize('NFD'), 'ada@example.com')).toBe(composed);
        const length = [...text.normalize('NFC')].length;
        expect(composed === 'too_short').toBe(length < 12);
        expect(composed === 'too_long').toBe(length > 256);
      }),
    );
  });
});
