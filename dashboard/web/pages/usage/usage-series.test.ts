import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UsageRowView } from '#contract/money.ts';
import { sumOf } from '../../charts/chart-data.ts';
import { MAX_SERIES, OTHERS } from '../../charts/daily-series.ts';
import { usageSeries } from './usage-rows.ts';

const DAYS = ['2026-11-20', '2026-11-21'];
const row = (change: Partial<UsageRowView>): UsageRowView => ({
  day: '2026-11-21',
  requests: 1,
  promptTokens: 20,
  completionTokens: 3,
  cachedTokens: 10,
  cacheWriteTokens: 5,
  cacheWrite1hTokens: 3,
  reasoningTokens: 2,
  costNanoUsd: '1500000000',
  ...change,
});

describe('series of usage', () => {
  it('have a value for each day, zero where there was nothing', () => {
    expect(usageSeries([row({ model: 'a' })], DAYS, 'cost')).toEqual([{ id: 'a', label: 'a', values: [0, 1.5] }]);
  });

  it('count each token once: cached ones are input, reasoning is output', () => {
    expect(usageSeries([row({})], DAYS, 'tokens')).toEqual([{ id: '', label: 'All', values: [0, 23] }]);
  });

  it('are named by what they are grouped by', () => {
    const rows = [
      row({ model: 'a', keyId: 'key-1', keyName: 'Backend' }),
      row({ model: 'a', keyId: 'key-2', requests: 2 }),
    ];
    expect(usageSeries(rows, DAYS, 'requests').map(({ id, label }) => [id, label])).toEqual([
      ['a key-2', 'a · key-2'],
      ['a key-1', 'a · Backend'],
    ]);
  });

  it('keep the order of what they cost, whatever is measured', () => {
    const rows = [row({ model: 'busy', requests: 9, costNanoUsd: '1' }), row({ model: 'dear', costNanoUsd: '2' })];
    expect(usageSeries(rows, DAYS, 'requests').map(({ id, values }) => [id, values[1]])).toEqual([
      ['dear', 1],
      ['busy', 9],
    ]);
  });

  it('keep keys of one name apart', () => {
    const rows = [row({ keyId: 'key-1', keyName: 'Test' }), row({ keyId: 'key-2', keyName: 'Test' })];
    expect(usageSeries(rows, DAYS, 'requests')).toHaveLength(2);
  });

  it('put what is small together', () => {
    const rows = Array.from({ length: MAX_SERIES + 3 }, (_, place) => row({ model: `m${place}`, requests: place + 1 }));
    const series = usageSeries(rows, DAYS, 'requests');
    expect(series).toHaveLength(MAX_SERIES + 1);
    expect(series[0]).toEqual({ id: 'm10', label: 'm10', values: [0, 11] });
    expect(series.at(-1)).toEqual({ id: OTHERS, label: '3 others', values: [0, 1 + 2 + 3] });
  });

  it('lose and invent nothing, but for days that are not on the axis', () => {
    const rows = fc.array(
      fc.record({
        day: fc.constantFrom(...DAYS, '2026-11-22'),
        model: fc.integer({ min: 0, max: 12 }).map((number) => `m${number}`),
        requests: fc.nat(1000),
      }),
    );
    fc.assert(
      fc.property(rows, (drawn) => {
        const all = drawn.map(row);
        const expected = all.filter(({ day }) => DAYS.includes(day ?? '')).reduce((sum, one) => sum + one.requests, 0);
        const series = usageSeries(all, DAYS, 'requests');
        expect(sumOf(series.flatMap(({ values }) => values))).toBe(expected);
        expect(series.length).toBeLessThanOrEqual(MAX_SERIES + 1);
      }),
    );
  });
});
