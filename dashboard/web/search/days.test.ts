import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { daysBetween, MAX_DAYS, objectionToDays, PRESETS, presetDays } from './days.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 10, 30);

describe('presets', () => {
  it('end today in UTC and count today', () => {
    expect(presetDays('7d', NOW_MS)).toEqual({ from: '2026-11-15', to: '2026-11-21' });
    expect(presetDays('30d', NOW_MS)).toEqual({ from: '2026-10-23', to: '2026-11-21' });
    expect(presetDays('90d', NOW_MS)).toEqual({ from: '2026-08-24', to: '2026-11-21' });
    expect(presetDays('month', NOW_MS)).toEqual({ from: '2026-11-01', to: '2026-11-21' });
  });

  it('know the month before, over the turn of a year too', () => {
    expect(presetDays('last-month', NOW_MS)).toEqual({ from: '2026-10-01', to: '2026-10-31' });
    expect(presetDays('last-month', Date.UTC(2027, 0, 31))).toEqual({ from: '2026-12-01', to: '2026-12-31' });
    expect(presetDays('last-month', Date.UTC(2028, 2, 31))).toEqual({ from: '2028-02-01', to: '2028-02-29' });
  });

  it('are always days that can be shown', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PRESETS), fc.integer({ min: 0, max: 4e12 }), (preset, nowMs) => {
        expect(objectionToDays(presetDays(preset, nowMs))).toBeUndefined();
      }),
    );
  });
});

describe('days', () => {
  it('are refused the wrong way round, and where there are too many', () => {
    expect(objectionToDays({ from: '2026-11-21', to: '2026-11-21' })).toBeUndefined();
    expect(objectionToDays({ from: '2026-11-22', to: '2026-11-21' })).toMatch(/after/);
    for (const from of ['2026-02-30', '2026-13-01', '26-1-1', '2026-11-21T00:00', '', 'today'])
      expect(objectionToDays({ from, to: '2026-11-21' }), from).toMatch(/Choose a first/);
    expect(objectionToDays({ from: '2025-11-21', to: '2026-11-21' })).toBeUndefined();
    expect(objectionToDays({ from: '2025-11-20', to: '2026-11-21' })).toMatch(/366/);
  });

  it('between two are all of them, once', () => {
    expect(daysBetween({ from: '2026-02-27', to: '2026-03-02' })).toEqual([
      '2026-02-27',
      '2026-02-28',
      '2026-03-01',
      '2026-03-02',
    ]);
    expect(daysBetween({ from: '2020-01-01', to: '2026-01-01' })).toHaveLength(MAX_DAYS);
  });
});
