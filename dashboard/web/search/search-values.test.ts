import { describe, expect, it } from 'vitest';
import { numberOf, oneOf, textOf } from './search-values.ts';

describe('values of a URL', () => {
  it('are text as it stands, digits too', () => {
    expect(textOf({ a: 'x' }, 'a')).toBe('x');
    expect(textOf({ a: 429 }, 'a')).toBe('429');
    for (const value of ['', 'x'.repeat(301), {}, null, true, undefined])
      expect(textOf({ a: value }, 'a')).toBeUndefined();
  });

  it('are whole numbers from zero on', () => {
    expect([0, 429, '429'].map((value) => numberOf({ a: value }, 'a'))).toEqual([0, 429, 429]);
    for (const value of [-1, 1.5, 'x', '', '1e3', Number.NaN, 2 ** 60])
      expect(numberOf({ a: value }, 'a')).toBeUndefined();
  });

  it('are one of those that there are', () => {
    expect(oneOf({ a: 'key' }, 'a', ['model', 'key'])).toBe('key');
    expect(oneOf({ a: 'KEY' }, 'a', ['model', 'key'])).toBeUndefined();
  });
});
