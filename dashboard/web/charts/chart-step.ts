const hour = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', weekday: 'short', timeZone: 'UTC' });

const time = new Intl.DateTimeFormat('en-US', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** How long the steps are: there may be several hours in one. */
export function stepLengthMs(startsMs: readonly number[], step: 'hour' | 'day'): number {
  const [first, second] = startsMs;
  if (first === undefined || second === undefined) return step === 'hour' ? HOUR_MS : DAY_MS;
  return second - first;
}

/** `Nov 21, 14:00 – 15:00` in the reader's zone, or `Fri, Nov 21` of UTC, which is what daily figures are kept by. */
export function formatStep(startMs: number, step: 'hour' | 'day', lengthMs: number): string {
  if (step === 'day') return `${day.format(startMs)} UTC`;
  return `${hour.format(startMs)} – ${time.format(startMs + lengthMs)}`;
}
