import { describe, expect, it } from 'vitest';
import type { CostRowView } from '#contract/costs.ts';
import { sortRows } from '../../table/sorting.ts';
import { costDays, costSeries, knownPart, shownAmount, sortedValue, subjectOf } from './cost-rows.ts';

const row = (more: Partial<CostRowView>): CostRowView => ({
  requests: 1,
  revenueNanoUsd: '0',
  listNanoUsd: '0',
  lossesNanoUsd: '0',
  ...more,
});
const DAYS = ['2026-11-20', '2026-11-21'];

describe('rows of costs', () => {
  it('are named after their subject', () => {
    expect(subjectOf(row({ model: 'm' }))).toBe('m');
    expect(subjectOf(row({ organizationId: 'org-1', organizationName: 'Acme' }))).toBe('Acme');
    expect(subjectOf(row({ organizationId: 'org-1' }))).toBe('org-1');
  });

  it('are sorted by amount, with unknown ones last', () => {
    const rows = [
      row({ model: 'unknown' }),
      row({ model: 'small', marginNanoUsd: '-10000000000000000001' }),
      row({ model: 'large', marginNanoUsd: '9' }),
    ];
    const models = (order: 'asc' | 'desc') =>
      sortRows(rows, order, (row) => sortedValue(row, 'margin')).map(({ model }) => model);
    expect(models('desc')).toEqual(['large', 'small', 'unknown']);
    expect(models('asc')).toEqual(['small', 'large', 'unknown']);
    expect(sortedValue(row({ day: '2026-11-21' }), 'subject')).toBe('2026-11-21');
    expect(sortedValue(row({ model: 'm' }), 'subject')).toBe('m');
  });
});

describe('the days of an address', () => {
  const daysOf = (search: Parameters<typeof costDays>[0]) => {
    const days = costDays(search, Date.UTC(2026, 10, 21, 10, 30));
    return [days.at(0), days.at(-1), days.length];
  };

  it('are the UTC days that its range touches, by default thirty including today', () => {
    expect(daysOf({})).toEqual(['2026-10-23', '2026-11-21', 30]);
    expect(daysOf({ range: '7d' })).toEqual(['2026-11-15', '2026-11-21', 7]);
    expect(daysOf({ range: 'month' })).toEqual(['2026-11-01', '2026-11-21', 21]);
    expect(daysOf({ range: 'yesterday' })).toEqual(['2026-11-20', '2026-11-20', 1]);
    expect(daysOf({ range: 'last-month' })).toEqual(['2026-10-01', '2026-10-31', 31]);
    expect(daysOf({ fromMs: Date.UTC(2026, 10, 1, 5), toMs: Date.UTC(2026, 10, 3) })).toEqual([
      ...['2026-11-01', '2026-11-02', 2],
    ]);
  });

  it('never exceed the maximum of the server', () => {
    expect(daysOf({ range: '1y' })).toEqual(['2025-11-22', '2026-11-21', 365]);
    expect(daysOf({ fromMs: 0 })).toEqual(['2025-11-21', '2026-11-21', 366]);
  });
});

describe('the known part of a cost', () => {
  const partOf = (revenueNanoUsd: string, costNanoUsd: string) =>
    knownPart(row({ revenueNanoUsd: '3000000000', known: { revenueNanoUsd, costNanoUsd } }));

  it('has its share of the revenue, and the margin within that share', () => {
    expect(partOf('2500000000', '2150000000')).toEqual({
      ...{ share: 0.83, cost: '2150000000', margin: '350000000' },
      rate: 0.14,
    });
  });

  it('is shown with its share', () => {
    const known = { revenueNanoUsd: '2500000000', costNanoUsd: '2150000000' };
    const partial = row({ revenueNanoUsd: '3000000000', known });
    expect(shownAmount(partial, 'cost')).toEqual({ amount: '2150000000', known: 'known for 83%' });
    expect(shownAmount(partial, 'margin')).toEqual({ amount: '350000000', rate: '14%', known: 'known for 83%' });
    expect(shownAmount(partial, 'losses')).toEqual({ amount: '0' });
    expect(shownAmount(row({ revenueNanoUsd: '8', marginNanoUsd: '-2' }), 'margin')).toEqual({
      ...{ amount: '-2', rate: '−25%' },
    });
    expect(shownAmount(row({ marginNanoUsd: '0' }), 'margin')).toEqual({ amount: '0' });
    expect(shownAmount(row({}), 'cost')).toEqual({});
  });

  it('is never the whole, and is absent if all or nothing is known', () => {
    expect(partOf('3000000000', '1')?.share).toBe(0.99);
    expect(knownPart(row({ costNanoUsd: '1' }))).toBeUndefined();
    expect(knownPart(row({}))).toBeUndefined();
  });
});

describe('series of costs', () => {
  const rows = [
    row({ day: '2026-11-21', model: 'a', revenueNanoUsd: '1500000000', marginNanoUsd: '-500000000' }),
    row({ day: '2026-11-20', model: 'b', revenueNanoUsd: '2000000000', lossesNanoUsd: '250000000' }),
  ];

  it('have a value for each day, ordered by revenue', () => {
    expect(costSeries(rows, DAYS, 'revenue')).toEqual([
      { id: 'b', label: 'b', values: [2, 0] },
      { id: 'a', label: 'a', values: [0, 1.5] },
    ]);
    expect(costSeries(rows, DAYS, 'losses').map(({ values }) => values)).toEqual([
      [0.25, 0],
      [0, 0],
    ]);
  });

  it('have a gap for an unknown day, and zero for a day without requests', () => {
    const unknown = row({ day: '2026-11-20', model: 'a', revenueNanoUsd: '1' });
    expect(costSeries([...rows, unknown], DAYS, 'margin')).toEqual([
      { id: 'a', label: 'a', values: [undefined, -0.5] },
    ]);
    expect(costSeries(rows, DAYS, 'margin')).toEqual([{ id: 'a', label: 'a', values: [0, -0.5] }]);
  });

  it('show the known part of a day', () => {
    const known = { revenueNanoUsd: '3000000000', costNanoUsd: '1000000000' };
    const partial = row({ day: '2026-11-20', organizationId: 'org-1', revenueNanoUsd: '4000000000', known });
    expect(costSeries([partial], DAYS, 'margin')).toEqual([{ id: 'org-1', label: 'org-1', values: [2, 0] }]);
    expect(costSeries([partial], DAYS, 'cost').map(({ values }) => values)).toEqual([[1, 0]]);
  });

  it('are left out if no day is known', () => {
    expect(costSeries(rows, DAYS, 'cost')).toEqual([]);
  });

  it('have a gap in the sum of the others if one of them is unknown', () => {
    const many = Array.from({ length: 10 }, (_, i) =>
      DAYS.map((day) =>
        row({
          ...{ day, model: `m${i}`, revenueNanoUsd: String(100 - i) },
          ...(i === 9 && day === DAYS[1] ? {} : { costNanoUsd: '1000000000' }),
        }),
      ),
    ).flat();
    expect(costSeries(many, DAYS, 'cost').at(-1)).toEqual({
      ...{ id: '*', label: '2 others', isOther: true },
      values: [2, undefined],
    });
  });
});
