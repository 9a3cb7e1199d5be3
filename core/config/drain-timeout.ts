const DEFAULT_MS = 30_000;
/** After that time: how long what is cut then may take to be answered and charged. */
export const CUTTING_MS = 10_000;
/**
 * From the end of the drain to the exit, at most: cutting, and closing everything. The caller that
 * stops the process has to wait for so long.
 */
export const ENDING_MS = CUTTING_MS + 15_000;
const LONGEST_MS = 3_600_000;

/**
 * How long requests in flight may take to end once the process is asked to, or what is wrong with
 * the variable, for the operator.
 */
export function readDrainTimeoutMs(env: Readonly<Record<string, string | undefined>>): number | string {
  const given = env.DRAIN_TIMEOUT_MS;
  if (given === undefined) return DEFAULT_MS;
  const timeoutMs = /^\d{1,7}$/.test(given) ? Number(given) : Number.NaN;
  if (timeoutMs <= LONGEST_MS) return timeoutMs;
  return `DRAIN_TIMEOUT_MS takes whole milliseconds from 0 to ${LONGEST_MS}, not ${JSON.stringify(given)}.`;
}
