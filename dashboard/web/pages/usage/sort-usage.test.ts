import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UsageRowView } from '#contract/money.ts';
import { USAGE_COLUMNS } from '../searches.ts';
import { sortUsage } from './usage-rows.ts';

const EMPTY: UsageRowView = {
  requests: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
  costNanoUsd: '0',
};
const row = (change: Partial<UsageRowView>): UsageRowView => ({ ...EMPTY, ...change });

describe('rows of usage', () => {
  it('compare money as amounts and not as text', () => {
    const rows = [
      row({ costNanoUsd: '9' }),
      row({ costNanoUsd: '10000000000000000001' }),
      row({ costNanoUsd: '10000000000000000000' }),
    ];
    expect(sortUsage(rows, 'cost', 'desc').map(({ costNanoUsd }) => costNanoUsd)).toEqual([
      '10000000000000000001',
      '10000000000000000000',
      '9',
    ]);
  });

  it('sort names as people do', () => {
    const names = (order: 'asc' | 'desc') =>
      sortUsage([row({ keyName: 'app 10' }), row({ keyName: 'App 9' }), row({ keyName: 'backend' })], 'key', order).map(
        ({ keyName }) => keyName,
      );
    expect(names('asc')).toEqual(['App 9', 'app 10', 'backend']);
    expect(names('desc')).toEqual(['backend', 'app 10', 'App 9']);
  });

  it('have one order, whatever order they came in', () => {
    const rows = fc.array(
      fc.record({
        day: fc.constantFrom('2026-11-20', '2026-11-21'),
        model: fc.constantFrom('a', 'b'),
        keyName: fc.constantFrom('x', 'y'),
        requests: fc.nat(3),
        promptTokens: fc.nat(1),
        completionTokens: fc.constant(0),
        cachedTokens: fc.constant(0),
        cacheWriteTokens: fc.nat(2),
        cacheWrite1hTokens: fc.constant(0),
        reasoningTokens: fc.constant(0),
        costNanoUsd: fc.nat(3).map(String),
      }),
      { maxLength: 8 },
    );
    // Rows of one answer differ in what they are grouped by.
    const distinct = rows.map((all) => [
      ...new Map(all.map((one) => [`${one.day} ${one.model} ${one.keyName}`, one])).values(),
    ]);
    fc.assert(
      fc.property(
        distinct,
        fc.constantFrom(...USAGE_COLUMNS),
        fc.constantFrom('asc' as const, 'desc' as const),
        (all, column, order) => {
          expect(sortUsage(all.toReversed(), column, order)).toEqual(sortUsage(all, column, order));
        },
      ),
    );
  });

  it('leave what they were given as it was', () => {
    const rows = [row({ requests: 1 }), row({ requests: 2 })];
    sortUsage(rows, 'requests', 'desc');
    expect(rows.map(({ requests }) => requests)).toEqual([1, 2]);
  });
});
