import { describe, expect, it } from 'vitest';
import { stack } from './chart-stack.ts';

describe('stacked series', () => {
  it('stand on each other, the first at the bottom', () => {
    expect(
      stack([
        [1, 2],
        [10, 0],
        [100, 5],
      ]),
    ).toEqual([
      [1, 2],
      [11, 2],
      [111, 7],
    ]);
    expect(stack([])).toEqual([]);
  });
});
