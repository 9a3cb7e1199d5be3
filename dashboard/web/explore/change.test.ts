import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pointChange, relativeChange } from './change.ts';

describe('a change against the range before', () => {
  it('is a percentage, with a decimal if it is small', () => {
    expect(relativeChange(112, 100)).toEqual({ direction: 'up', amount: '12%', isNotable: true });
    expect(relativeChange(88, 100)).toEqual({ direction: 'down', amount: '12%', isNotable: true });
    expect(relativeChange(100.5, 100)).toEqual({ direction: 'up', amount: '0.5%', isNotable: false });
    expect(relativeChange(0, 100)).toEqual({ direction: 'down', amount: '100%', isNotable: true });
  });

  it('is none if it rounds to zero', () => {
    expect(relativeChange(100.01, 100)).toEqual({ direction: 'same', amount: '0%', isNotable: false });
    expect(pointChange(0.01, 0.01)).toEqual({ direction: 'same', amount: '0 pt', isNotable: false });
  });

  it('is a factor if the percentage would be long', () => {
    expect(relativeChange(999, 100)).toEqual({ direction: 'up', amount: '899%', isNotable: true });
    expect(relativeChange(1000, 100)).toEqual({ direction: 'up', amount: '10×', isNotable: true });
    expect(relativeChange(1_234_500, 100)).toEqual({ direction: 'up', amount: '12,345×', isNotable: true });
  });

  it('is absent if there was nothing before', () => {
    expect(relativeChange(5, 0)).toBeUndefined();
    expect(relativeChange(5, undefined)).toBeUndefined();
    expect(relativeChange(undefined, 5)).toBeUndefined();
    expect(pointChange(0.1, undefined)).toBeUndefined();
  });

  it('of shares is in points', () => {
    expect(pointChange(0.02, 0.01)).toEqual({ direction: 'up', amount: '1 pt', isNotable: true });
    expect(pointChange(0.016, 0.01)).toEqual({ direction: 'up', amount: '0.6 pt', isNotable: false });
    expect(pointChange(0.031, 0.156)).toEqual({ direction: 'down', amount: '13 pt', isNotable: true });
  });

  it('goes up exactly if the figure is larger', () => {
    const figure = fc.integer({ min: 1, max: 1_000_000_000 });
    fc.assert(
      fc.property(figure, figure, (now, before) => {
        const direction = relativeChange(now, before)?.direction;
        if (direction !== 'same') expect(direction).toBe(now > before ? 'up' : 'down');
        else expect(Math.abs(now / before - 1)).toBeLessThan(0.001);
      }),
    );
  });
});
