import { describe, expect, it } from 'vitest';
import { day, defineSearch, idOf, oneOf, text, wholeNumber } from './define-search.ts';

describe('values of a URL', () => {
  it('are text as it was typed, digits too', () => {
    expect(text('x')).toBe('x');
    expect(text(429)).toBe('429');
    for (const value of ['', 'x'.repeat(301), {}, null, true, undefined]) expect(text(value)).toBeUndefined();
  });

  it('are whole numbers from zero on', () => {
    expect([0, 429, '429'].map(wholeNumber)).toEqual([0, 429, 429]);
    for (const value of [-1, 1.5, 'x', '', '1e3', Number.NaN, 2 ** 60]) expect(wholeNumber(value)).toBeUndefined();
  });

  it('are one of a list', () => {
    expect(oneOf(['model', 'key'])('key')).toBe('key');
    expect(oneOf(['model', 'key'])('KEY')).toBeUndefined();
    expect(['model', 'key'].map(oneOf(['model', 'key'], 'model'))).toEqual([undefined, 'key']);
  });

  it('are ids with the right prefix', () => {
    const id = `org-${'0'.repeat(26)}`;
    expect(idOf('org')(id)).toBe(id);
    for (const value of [`key-${'0'.repeat(26)}`, `${id}0`, 'org-1', 7]) expect(idOf('org')(value)).toBeUndefined();
  });

  it('are days of the calendar', () => {
    expect(day('2026-02-28')).toBe('2026-02-28');
    for (const value of ['2026-02-30', '26-1-1', 20260228, '']) expect(day(value)).toBeUndefined();
  });

  it('are read by name, and the malformed ones are left out', () => {
    const read = defineSearch({ search: text, status: wholeNumber });
    expect(read({ search: 'x', status: '429', other: 1 })).toEqual({ search: 'x', status: 429 });
    expect(Object.keys(read({ status: 'x' }))).toEqual([]);
  });

  it('are judged together, and only filters are taken away', () => {
    const read = defineSearch({ from: day, to: day }, { open: text }, ({ from, to, ...others }) =>
      (from ?? '') > (to ?? '') ? others : { from, to, ...others },
    );
    expect(read({ from: '2026-11-02', to: '2026-11-01', open: 'x' })).toEqual({ open: 'x' });
    expect(read.unfiltered).toStrictEqual({ from: undefined, to: undefined });
  });
});
