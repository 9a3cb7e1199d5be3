import { describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { dayByKey, dayName, LOCAL_DAYS, monthName, spanText, UTC_DAYS, weeksOf } from './calendar-days.ts';

const day = (text: string) => Date.parse(`${text}T00:00:00Z`) / DAY_MS;
const textOf = (number = Number.NaN) => new Date(number * DAY_MS).toISOString().slice(0, 10);

it('shows the weeks of a month, beginning on Sunday', () => {
  const weeks = weeksOf(day('2026-02-17'));
  expect(weeks).toHaveLength(6);
  expect(weeks[0]?.[0]).toBe(day('2026-02-01'));
  expect(weeks[3]?.[6]).toBe(day('2026-02-28'));
  expect(weeks.flat().filter((one) => one !== undefined)).toHaveLength(28);
  expect(monthName(day('2026-02-17'))).toBe('February 2026');
  expect(dayName(day('2026-02-17'))).toBe('Tuesday, February 17, 2026');
});

it.each([
  ['ArrowLeft', false, '2026-03-30'],
  ['ArrowRight', false, '2026-04-01'],
  ['ArrowUp', false, '2026-03-24'],
  ['ArrowDown', false, '2026-04-07'],
  ['Home', false, '2026-03-29'],
  ['End', false, '2026-04-04'],
  ['PageUp', false, '2026-02-28'],
  ['PageDown', false, '2026-04-30'],
  ['PageUp', true, '2025-03-31'],
  ['PageDown', true, '2027-03-31'],
])('%s (with Shift: %s) goes from March 31, a Tuesday, to %s', (key, shift, to) => {
  expect(textOf(dayByKey(day('2026-03-31'), key, shift))).toBe(to);
});

it('ignores other keys', () => {
  expect(dayByKey(day('2026-03-31'), 'Enter', false)).toBeUndefined();
});

describe.each([
  ['the reader’s zone', LOCAL_DAYS, ''],
  ['UTC', UTC_DAYS, ' (UTC)'],
])('days of %s', (_, zone, label) => {
  it('begin at midnight and end with the next, also across a change of clocks', () => {
    for (let number = day('2026-01-01'); number < day('2027-01-01'); number++) {
      const startMs = zone.momentOf(number);
      expect([zone.dayOf(startMs), zone.dayOf(startMs - 1)]).toEqual([number, number - 1]);
      expect(zone.minutesOf(zone.momentOf(number, 845))).toBe(845);
    }
  });

  it('are named as days or times', () => {
    const at = (text: string) => zone.momentOf(day(text));
    const [from, to] = [845, 990].map((minutes) => LOCAL_DAYS.momentOf(day('2026-11-21'), minutes));
    // Intl has thin spaces.
    const shown = (...span: [number?, number?]) =>
      spanText(span[0], span[1], zone === UTC_DAYS).replaceAll('\u2009', ' ');
    expect(shown(at('2026-11-21'), at('2026-11-24'))).toBe(`Nov 21 – 23, 2026${label}`);
    expect(shown(at('2026-11-21'), at('2026-11-22'))).toBe(`Nov 21, 2026${label}`);
    expect(shown(from, to)).toBe('Nov 21, 14:05 – 16:30');
    expect(shown(from)).toBe('Since Nov 21, 14:05');
    expect(shown(undefined, to)).toBe('Until Nov 21, 16:30');
  });
});

it('names a range of 24 days and more by UTC days, like its figures', () => {
  const [from, to] = [UTC_DAYS.momentOf(day('2026-10-01')), UTC_DAYS.momentOf(day('2026-11-01'))];
  expect(spanText(from, to, false).replaceAll('\u2009', ' ')).toBe('Oct 1 – 31, 2026 (UTC)');
});
