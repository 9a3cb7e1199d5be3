/** Upper bounds of the buckets in milliseconds (0006_request_log.sql); what is beyond has no bound. */
const BOUNDS_MS = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600];

/**
 * The time below which that fraction of the counted completions stayed, as if times were spread evenly within each bucket: off by half a
 * bucket at most in practice. Beyond the last bound that bound is all that is known. `undefined`: nothing was counted.
 */
export function percentileMs(buckets: readonly number[], fraction: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let left = total * fraction;
  let lowerMs = 0;
  for (const [bucket, upperMs] of BOUNDS_MS.entries()) {
    const count = buckets[bucket] ?? 0;
    if (count > 0 && left <= count) return Math.round(lowerMs + ((upperMs - lowerMs) * left) / count);
    left -= count;
    lowerMs = upperMs;
  }
  return lowerMs;
}
