/** `retryAfterSeconds` of a refusal that ends at this time. */
export function secondsUntil(endsAtMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000));
}
