/** Time is passed in, so that windows, leases and midnight can be tested. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  nowMs(): number;
  /** Never goes back. Only for durations and deadlines. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** An instant on both clocks: the monotonic one stops in suspend, the wall clock may be set. */
export interface Instant {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function instantOf(clock: Clock): Instant {
  return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
}

/** The longer of the times on both clocks. Infinite if the wall clock was set back meanwhile. */
export function elapsedMs(since: Instant, clock: Clock): number {
  const wallMs = clock.nowMs() - since.wallMs;
  return wallMs < 0 ? Number.POSITIVE_INFINITY : Math.max(wallMs, clock.monotonicMs() - since.monotonicMs);
}

/** Whole days since 1970-01-01 UTC, the key of daily budgets and daily usage. */
export type UtcDay = number;

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

export function utcDay(nowMs: number): UtcDay {
  return Math.floor(nowMs / DAY_MS);
}

export function firstOfMonth(day: UtcDay): UtcDay {
  return day + 1 - new Date(day * DAY_MS).getUTCDate();
}

export function firstOfNextMonth(day: UtcDay): UtcDay {
  return firstOfMonth(firstOfMonth(day) + 31);
}

/** Cache of the last result, mostly today's. Formatting a day takes ten times as long. */
let written: { readonly day: UtcDay; readonly text: string } = { day: Number.NaN, text: '' };

/** `2026-11-21` */
export function utcDayText(day: UtcDay): string {
  if (day !== written.day) written = { day, text: new Date(day * DAY_MS).toISOString().slice(0, 10) };
  return written.text;
}
