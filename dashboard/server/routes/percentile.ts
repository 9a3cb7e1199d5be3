/**
 * Upper bounds of the buckets in milliseconds (database/schema/tables.sql). The last bucket has
 * no bound.
 */
const BOUNDS_MS = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600];

/**
 * The latency in milliseconds below which a fraction of the completions stayed. Interpolates
 * linearly within a bucket, so the error is at most half a bucket in practice. Returns the last
 * bound for latencies above it, and `undefined` without any completion.
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
