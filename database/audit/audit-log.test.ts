import { expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { nextMoment } from './audit-log.ts';

it('times of events increase, and follow a clock that was set back', () => {
  const nowMs = 1_795_000_000_000;
  expect([nowMs, nowMs, nowMs - 1].map(nextMoment)).toEqual([nowMs, nowMs + 1, nowMs + 2]);
  expect([nowMs + DAY_MS, nowMs + 5, nowMs + 5].map(nextMoment)).toEqual([nowMs + DAY_MS, nowMs + 5, nowMs + 6]);
});
