import { describe, expect, it } from 'vitest';
import { formatRelative, formatShortDate, formatUtc, utcDay } from './format.ts';

const AT = Date.UTC(2026, 10, 21, 23, 30, 5);

describe('moments', () => {
  it('are exact in UTC', () => {
    expect(formatUtc(AT)).toBe('2026-11-21 23:30:05 UTC');
    expect(utcDay(AT)).toBe('2026-11-21');
  });

  it.each([
    [0, 'just now'],
    [-59_000, 'just now'],
    [30_000, 'in less than a minute'],
    [-60_000, '1 minute ago'],
    [-3_599_000, '59 minutes ago'],
    [-3 * 3_600_000, '3 hours ago'],
    [86_400_000, 'tomorrow'],
    [-45 * 86_400_000, 'last month'],
    [3 * 365 * 86_400_000, 'in 3 years'],
  ])('%i ms from now are %s', (offsetMs, text) => {
    expect(formatRelative(AT + offsetMs, AT)).toBe(text);
  });
});

describe('formatShortDate', () => {
  it('shows the year if it is another one', () => {
    expect(formatShortDate(Date.UTC(2026, 11, 3, 12), AT)).toBe('Dec 3');
    expect(formatShortDate(Date.UTC(2027, 1, 3, 12), AT)).toBe('Feb 3, 2027');
  });
});
