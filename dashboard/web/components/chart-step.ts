const hour = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', weekday: 'short', timeZone: 'UTC' });

/** `Nov 21, 14:00` in the reader's zone, or `Fri, Nov 21` of UTC, which is what daily figures are kept by. */
export function formatStep(startMs: number, step: 'hour' | 'day'): string {
  return step === 'hour' ? hour.format(startMs) : `${day.format(startMs)} UTC`;
}
