import { DAILY_FROM_MS } from '#contract/explore.ts';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';

/** Lengths of steps. Each divides a day, so that steps begin at round times. */
const STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE_MS);
/** Only days may be more: a year has more of them. */
const MOST_STEPS = 120;

/** Steps of equal length, with their starts. The last one may be in progress. */
export interface Steps {
  readonly stepMs: number;
  readonly startsMs: readonly number[];
  readonly endMs: number;
}

/** Divides the range into the finest steps of which at most MOST_STEPS are needed. */
export function stepsOf(fromMs: number, toMs: number, finestMs: number): Steps {
  const spanMs = toMs - fromMs;
  const fits = (stepMs: number) => stepMs >= finestMs && spanMs <= MOST_STEPS * stepMs;
  const stepMs = spanMs >= DAILY_FROM_MS ? DAY_MS : (STEPS_MS.find(fits) ?? DAY_MS);
  const startMs = Math.floor(fromMs / stepMs) * stepMs;
  const count = Math.max(1, Math.ceil((toMs - startMs) / stepMs));
  const startsMs = Array.from({ length: count }, (_, step) => startMs + step * stepMs);
  return { stepMs, startsMs, endMs: startMs + count * stepMs };
}

/** The same number of steps of the same length, directly before. */
export function stepsBefore({ stepMs, startsMs }: Steps): Steps {
  const lengthMs = startsMs.length * stepMs;
  const before = startsMs.map((startMs) => Math.max(0, startMs - lengthMs));
  return { stepMs, startsMs: before, endMs: startsMs[0] ?? 0 };
}
