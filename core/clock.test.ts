import { expect, it } from 'vitest';
import { elapsedMs, instantOf } from './clock.ts';

it('the time since an instant is the longer one of both clocks, and unknown after the wall clock was set back', () => {
  const since = instantOf({ nowMs: () => 1_000, monotonicMs: () => 50 });
  const elapsed = (wallMs: number, monotonicMs: number) =>
    elapsedMs(since, { nowMs: () => wallMs, monotonicMs: () => monotonicMs });
  expect(elapsed(1_007, 57)).toBe(7);
  expect(elapsed(6_000, 57)).toBe(5_000);
  expect(elapsed(1_000, 80)).toBe(30);
  expect(elapsed(999, 57)).toBe(Number.POSITIVE_INFINITY);
});
