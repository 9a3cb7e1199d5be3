import { describe, expect, it } from 'vitest';
import { toggleHidden } from './hidden-series.ts';

describe('hiding series', () => {
  it('toggles a series, and never hides the last', () => {
    const all = ['a', 'b'];
    const withoutA = toggleHidden(new Set(), 'a', all);
    expect([...withoutA]).toEqual(['a']);
    expect([...toggleHidden(withoutA, 'b', all)]).toEqual(['a']);
    expect([...toggleHidden(withoutA, 'a', all)]).toEqual([]);
  });

  it('counts only current series', () => {
    expect([...toggleHidden(new Set(['gone']), 'a', ['a', 'b'])]).toEqual(['gone', 'a']);
    expect([...toggleHidden(new Set(['gone']), 'a', ['a'])]).toEqual(['gone']);
  });
});
