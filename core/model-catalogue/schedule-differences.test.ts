import { expect, it } from 'vitest';
import type { CatalogueSchedule, CatalogueWindow } from './catalogue-model.ts';
import { missingTiers, priceDifferences } from './price-differences.ts';
import { scheduleDifferences } from './schedule-differences.ts';

const NOW_MS = Date.parse('2026-11-24T08:00:00Z');
const differencesBy =
  (differs: (ours: number, theirs: number) => boolean) =>
  (ours: CatalogueSchedule, theirs: CatalogueSchedule, nowMs = NOW_MS) =>
    scheduleDifferences(ours, theirs, nowMs, (one, other) => [
      ...priceDifferences(one, other, 1_000_000, differs),
      ...missingTiers(one, other),
    ]).map(({ field, configured, catalogue }) => [field, configured, catalogue]);
const lower = differencesBy((ours, theirs) => ours < theirs);
const other = differencesBy((ours, theirs) => ours !== theirs);

const table = (input: number) => ({ input, output: input * 5 });
const later = (input: number, day = '2026-12-01') => ({ from: { [day]: table(input) } });
const ARGON = { ...table(2), ...later(4) };

it('finds a change that comes within 30 days and that the configuration lacks', () => {
  const lacking = [['from.2026-12-01', null, 'input 4, output 20']];
  expect(lower(table(2), ARGON)).toEqual(lacking);
  expect(other(table(2), ARGON)).toEqual(lacking);
  expect(lower({ ...table(2), ...later(4, '2026-12-02') }, ARGON)).toEqual(lacking);
  expect(lower(table(2), ARGON, Date.parse('2026-11-01T00:00:00Z'))).toEqual(lacking);
  expect(lower(table(2), ARGON, Date.parse('2026-10-31T23:59:59Z'))).toEqual([]);
});

it('compares the table that is in force, on both sides', () => {
  const after = Date.parse('2026-12-01T00:00:00Z');
  expect(lower(table(2), ARGON, after)).toEqual([
    ['input', 2, 4],
    ['output', 10, 20],
  ]);
  expect(lower(ARGON, ARGON, after)).toEqual([]);
  expect(lower({ ...table(1), from: { '2026-11-24T08:00:00Z': table(4) } }, ARGON)).toEqual([]);
  expect(lower({ ...table(1), from: { '2026-11-24T08:00:00.001Z': table(4) } }, ARGON)).toHaveLength(2);
});

it('finds no change in prices that are high enough for it, and none in costs that follow it', () => {
  expect(lower(table(4), ARGON)).toEqual([]);
  expect(lower({ ...table(3), ...later(5) }, ARGON)).toEqual([]);
  expect(other(ARGON, ARGON)).toEqual([]);
  expect(other({ ...table(2), ...later(4, '2026-12-01T00:00:00+00:00') }, ARGON)).toEqual([]);
});

it('finds later prices that differ, those of a change that the catalogue does not know too', () => {
  expect(lower({ ...table(2), ...later(3) }, ARGON)).toEqual([
    ['from.2026-12-01.input', 3, 4],
    ['from.2026-12-01.output', 15, 20],
  ]);
  expect(lower({ ...table(2), ...later(1, '2026-12-20') }, table(2))).toEqual([
    ['from.2026-12-20.input', 1, 2],
    ['from.2026-12-20.output', 5, 10],
  ]);
});

it('repeats no difference of today at a change', () => {
  const tiers = { service_tiers: { flex: table(1) } };
  const theirs = { ...table(2), ...tiers, from: { '2026-12-01': { ...table(1), ...tiers } } };
  expect(lower(table(2), theirs)).toEqual([['service_tiers.flex', null, 'input 1, output 5']]);
});

const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri'];
const window = (utc: string, input: number, days = WEEK): CatalogueWindow => ({ utc, days, ...table(input) });
const OFF_PEAK = (input: number) => [
  ...[window('00:00-01:00', input), window('04:00-06:00', input), window('10:00-24:00', input)],
  window('00:00-24:00', input, ['sat', 'sun']),
];
const DEEPSEEK = { ...table(2), hours: OFF_PEAK(1) };

it('finds hours that the configuration lacks, at any time of day', () => {
  for (const nowMs of [NOW_MS, Date.parse('2026-11-28T00:30:00Z')]) {
    expect(lower(table(2), DEEPSEEK, nowMs)).toEqual(
      DEEPSEEK.hours.map(({ utc }) => [`hours.${utc}`, null, 'input 1, output 5']),
    );
  }
  const weekdays = { ...table(2), hours: OFF_PEAK(1).slice(0, 3) };
  expect(lower(weekdays, DEEPSEEK)).toEqual([['hours.00:00-24:00', null, 'input 1, output 5']]);
});

it('accepts the same hours in another form', () => {
  expect(other(DEEPSEEK, DEEPSEEK)).toEqual([]);
  const { hours } = DEEPSEEK;
  const split = [window('00:00-00:30', 1), window('00:30-01:00', 1), ...hours.slice(1)];
  expect(other({ ...table(2), hours: split }, DEEPSEEK)).toEqual([]);
  const peaks = [window('01:00-04:00', 2), { ...window('06:00-10:00', 2), except: ['2026-12-25'] }];
  expect(other({ ...table(1), hours: peaks }, DEEPSEEK)).toEqual([]);
  expect(lower({ ...table(3), hours: OFF_PEAK(1.5) }, DEEPSEEK)).toEqual([]);
});

it('finds prices of hours that differ, and lower ones at hours that the catalogue does not know', () => {
  expect(lower({ ...table(2), hours: OFF_PEAK(0.5) }, DEEPSEEK)).toHaveLength(8);
  const longer = [window('00:00-02:00', 1), ...OFF_PEAK(1).slice(1)];
  expect(lower({ ...table(2), hours: longer }, DEEPSEEK)).toEqual([
    ['hours.00:00-02:00.input', 1, 2],
    ['hours.00:00-02:00.output', 5, 10],
  ]);
  expect(
    other({ ...table(2), hours: [window('00:00-01:00', 1.5)] }, { ...table(2), hours: [window('00:00-01:00', 1)] }),
  ).toEqual([
    ['hours.00:00-01:00.input', 1.5, 1],
    ['hours.00:00-01:00.output', 7.5, 5],
  ]);
});

it('keeps the service tiers of the day in a window', () => {
  const tiers = { service_tiers: { flex: table(1) } };
  expect(lower({ ...DEEPSEEK, ...tiers }, { ...DEEPSEEK, ...tiers })).toEqual([]);
  expect(lower({ ...DEEPSEEK, service_tiers: { flex: table(0.5) } }, { ...DEEPSEEK, ...tiers })).toEqual([
    ['service_tiers.flex.input', 0.5, 1],
    ['service_tiers.flex.output', 2.5, 5],
  ]);
});

it('finds hours of a later table', () => {
  const coming = { from: { '2026-12-01': DEEPSEEK } };
  expect(
    lower({ ...table(2), from: { '2026-12-01': { ...table(2), hours: OFF_PEAK(0.5) } } }, { ...table(2), ...coming }),
  ).toContainEqual(['from.2026-12-01.hours.00:00-01:00.input', 0.5, 1]);
});
