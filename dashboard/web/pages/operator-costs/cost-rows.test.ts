import { describe, expect, it } from 'vitest';
import type { CostRowView } from '#contract/costs.ts';
import { costSeries, knownPart, sortCosts, subjectOf } from './cost-rows.ts';

const row = (more: Partial<CostRowView>): CostRowView => ({
  requests: 1,
  revenueNanoUsd: '0',
  listNanoUsd: '0',
  lossesNanoUsd: '0',
  ...more,
});
const DAYS = ['2026-11-20', '2026-11-21'];

describe('rows of costs', () => {
  it('are named by what they are about', () => {
    expect(subjectOf(row({ model: 'm' }))).toBe('m');
    expect(subjectOf(row({ organizationId: 'org-1', organizationName: 'Acme' }))).toBe('Acme');
    expect(subjectOf(row({ organizationId: 'org-1' }))).toBe('org-1');
  });

  it('are sorted by amounts, and unknown ones are last', () => {
    const rows = [
      row({ model: 'unknown' }),
      row({ model: 'small', marginNanoUsd: '-10000000000000000001' }),
      row({ model: 'large', marginNanoUsd: '9' }),
    ];
    const models = (order: 'asc' | 'desc') => sortCosts(rows, 'margin', order).map(({ model }) => model);
    expect(models('desc')).toEqual(['large', 'small', 'unknown']);
    expect(models('asc')).toEqual(['small', 'large', 'unknown']);
    expect(sortCosts(rows, 'subject', 'asc').map(({ model }) => model)).toEqual(['large', 'small', 'unknown']);
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

  it('is never said to be all, and is none where all or nothing is known', () => {
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

  it('have a value for each day, the largest revenue first', () => {
    expect(costSeries(rows, DAYS, 'revenue')).toEqual([
      { id: 'b', label: 'b', values: [2, 0] },
      { id: 'a', label: 'a', values: [0, 1.5] },
    ]);
    expect(costSeries(rows, DAYS, 'losses').map(({ values }) => values)).toEqual([
      [0.25, 0],
      [0, 0],
    ]);
  });

  it('have a gap where a day is unknown, and zero where a day has no requests', () => {
    const unknown = row({ day: '2026-11-20', model: 'a', revenueNanoUsd: '1' });
    expect(costSeries([...rows, unknown], DAYS, 'margin')).toEqual([
      { id: 'a', label: 'a', values: [undefined, -0.5] },
    ]);
    expect(costSeries(rows, DAYS, 'margin')).toEqual([{ id: 'a', label: 'a', values: [0, -0.5] }]);
  });

  it('are left out where no day is known', () => {
    expect(costSeries(rows, DAYS, 'cost')).toEqual([]);
  });

  it('have a gap in the sum of the others where one of them is unknown', () => {
    const many = Array.from({ length: 10 }, (_, i) =>
      DAYS.map((day) =>
        row({
          ...{ day, model: `m${i}`, revenueNanoUsd: String(100 - i) },
          ...(i === 9 && day === DAYS[1] ? {} : { costNanoUsd: '1000000000' }),
        }),
      ),
    ).flat();
    expect(costSeries(many, DAYS, 'cost').at(-1)).toEqual({ id: 'others', label: '2 others', values: [2, undefined] });
  });
});
