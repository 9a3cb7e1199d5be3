import { afterEach, describe, expect, it, vi } from 'vitest';
import { stack, stepLengthMs } from './chart-data.ts';

const HOUR_MS = 3_600_000;
const NOON_MS = Date.UTC(2026, 10, 21, 12);

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

/** Imports the module again, because its formats read the time zone when they are created. */
async function formatIn(zone: string) {
  vi.stubEnv('TZ', zone);
  vi.resetModules();
  return (await import('./chart-data.ts')).formatStep;
}

describe('a step of a chart', () => {
  it('lasts until the next one', () => {
    expect(stepLengthMs([0, 6 * HOUR_MS, 12 * HOUR_MS], 'hour')).toBe(6 * HOUR_MS);
    expect(stepLengthMs([0], 'hour')).toBe(HOUR_MS);
    expect(stepLengthMs([], 'day')).toBe(24 * HOUR_MS);
  });

  it('of hours is shown in the zone of the reader, with its end', async () => {
    const formatStep = await formatIn('Asia/Tokyo');
    expect(formatStep({ startsMs: [NOON_MS, NOON_MS + 6 * HOUR_MS], step: 'hour' }, 0)).toBe('Nov 21, 21:00 – 03:00');
  });

  it.each([
    ['Europe/Berlin', Date.UTC(2026, 9, 24, 23), 'Oct 25', ['01:00', '02:00 GMT+2', '02:00 GMT+1', '03:00', '04:00']],
    ['America/New_York', Date.UTC(2026, 10, 1, 4), 'Nov 1', ['00:00', '01:00 EDT', '01:00 EST', '02:00', '03:00']],
  ])('of an hour that occurs twice in %s has the offset', async (zone, fromMs, day, texts) => {
    const formatStep = await formatIn(zone);
    const startsMs = [0, 1, 2, 3].map((hour) => fromMs + hour * HOUR_MS);
    expect(startsMs.map((_, at) => formatStep({ startsMs, step: 'hour' }, at))).toEqual(
      startsMs.map((_, at) => `${day}, ${texts[at]} – ${texts[at + 1]}`),
    );
  });

  it('of a day is a UTC day in any zone', async () => {
    const formatStep = await formatIn('America/Los_Angeles');
    expect(formatStep({ startsMs: [Date.UTC(2026, 10, 21)], step: 'day' }, 0)).toBe('Sat, Nov 21 UTC');
  });
});

describe('stacked series', () => {
  it('are placed on each other, the first at the bottom', () => {
    expect(
      stack([
        [1, 2],
        [10, 0],
        [100, 5],
      ]),
    ).toEqual([
      [1, 2],
      [11, 2],
      [111, 7],
    ]);
    expect(stack([])).toEqual([]);
  });
});
