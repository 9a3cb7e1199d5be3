import { afterEach, describe, expect, it, vi } from 'vitest';
import { boundsOf, localDay, objectionToTimes, SPANS, validTimes } from './days.ts';
import { day, defineSearch, oneOf } from './define-search.ts';

const readTimes = defineSearch({ range: oneOf(SPANS), from: day, to: day }, {}, validTimes);
const NOW_MS = Date.UTC(2026, 10, 21, 10, 30);

afterEach(() => void vi.unstubAllEnvs());

describe('the time in a URL', () => {
  it('is a known span or days of the calendar', () => {
    expect(readTimes({ range: '7d' })).toEqual({ range: '7d' });
    expect(readTimes({ range: '1y', from: '2026-02-30', to: 7 })).toEqual({});
  });

  it('takes days before a span, and one of them alone', () => {
    expect(readTimes({ range: '7d', from: '2026-11-01' })).toEqual({ from: '2026-11-01' });
    expect(readTimes({ range: '7d', from: '2026-11-02', to: '2026-11-01' })).toEqual({ range: '7d' });
    expect(objectionToTimes({ from: '2026-11-02', to: '2026-11-01' })).toMatch(/after/);
    expect(objectionToTimes({ from: '2026-11-01', to: '2026-11-01' })).toBeUndefined();
  });
});

describe('its bounds', () => {
  it('go back from now', () => {
    expect(boundsOf({}, NOW_MS)).toEqual({});
    expect(boundsOf({ range: '24h' }, NOW_MS)).toEqual({ fromMs: Date.UTC(2026, 10, 20, 10, 30) });
  });

  it('are whole days of the reader', () => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    expect(boundsOf({ from: '2026-11-20', to: '2026-11-21' }, NOW_MS)).toEqual({
      fromMs: Date.UTC(2026, 10, 19, 15),
      toMs: Date.UTC(2026, 10, 21, 15),
    });
    expect(boundsOf({ to: '2026-12-31' }, NOW_MS)).toEqual({ toMs: Date.UTC(2026, 11, 31, 15) });
  });

  it('know days of 25 hours', () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    const { fromMs = 0, toMs = 0 } = boundsOf({ from: '2026-10-25', to: '2026-10-25' }, NOW_MS);
    expect((toMs - fromMs) / 3_600_000).toBe(25);
  });

  it('begin with the day that it is for the reader', () => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    expect(localDay(Date.UTC(2026, 10, 20, 15))).toBe('2026-11-21');
    expect(localDay(Date.UTC(2026, 0, 5))).toBe('2026-01-05');
  });
});
