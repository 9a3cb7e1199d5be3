import { describe, expect, it } from 'vitest';
import { defineSearch, idOf, moment, oneOf, text, wholeNumber } from './define-search.ts';

describe('values of a URL', () => {
  it('keep text as typed, including digits', () => {
    expect(text('x')).toBe('x');
    expect(text(429)).toBe('429');
    for (const value of ['', 'x'.repeat(601), {}, null, true, undefined]) expect(text(value)).toBeUndefined();
  });

  it('can be whole numbers from zero', () => {
    expect([0, 429, '429'].map(wholeNumber)).toEqual([0, 429, 429]);
    for (const value of [-1, 1.5, 'x', '', '1e3', Number.NaN, 2 ** 60]) expect(wholeNumber(value)).toBeUndefined();
    expect([0, '1', Date.UTC(9999, 11, 31)].map(moment)).toEqual([0, 1, Date.UTC(9999, 11, 31)]);
    for (const value of [-1, 2 ** 53 - 1, '253402300800000']) expect(moment(value)).toBeUndefined();
  });

  it('can be one of a list', () => {
    expect(oneOf(['model', 'key'])('key')).toBe('key');
    expect(oneOf(['model', 'key'])('KEY')).toBeUndefined();
    expect(['model', 'key'].map(oneOf(['model', 'key'], 'model'))).toEqual([undefined, 'key']);
  });

  it('can be ids with the right prefix', () => {
    const id = `org-${'0'.repeat(26)}`;
    expect(idOf('org')(id)).toBe(id);
    for (const value of [`key-${'0'.repeat(26)}`, `${id}0`, 'org-1', 7]) expect(idOf('org')(value)).toBeUndefined();
  });

  it('are read by name, without malformed ones', () => {
    const read = defineSearch({ search: text, status: wholeNumber });
    expect(read({ search: 'x', status: '429', other: 1 })).toEqual({ search: 'x', status: 429 });
    expect(Object.keys(read({ status: 'x' }))).toEqual([]);
  });

  it('are filters, which are cleared together, or view state', () => {
    expect(defineSearch({ from: text, to: text }, { open: text }).unfiltered).toStrictEqual({
      from: undefined,
      to: undefined,
    });
  });
});
