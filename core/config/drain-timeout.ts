const DEFAULT_MS = 30_000;
/** Time after the drain for requests that are cut: their responses and charges, in ms. */
export const CUTTING_MS = 10_000;
/** Longest time from the end of the drain to the exit, in ms. Supervisors wait this long. */
export const ENDING_MS = CUTTING_MS + 15_000;
const LONGEST_MS = 3_600_000;

/** Time in ms for requests in flight after a signal to stop. A text describes a problem. */
export function readDrainTimeoutMs(env: Readonly<Record<string, string | undefined>>): number | string {
  const given = env.DRAIN_TIMEOUT_MS;
  if (given === undefined) return DEFAULT_MS;
  const timeoutMs = /^\d{1,7}$/.test(given) ? Number(given) : Number.NaN;
  if (timeoutMs <= LONGEST_MS) return timeoutMs;
  return `DRAIN_TIMEOUT_MS takes whole milliseconds from 0 to ${LONGEST_MS}, not ${JSON.stringify(given)}.`;
}
