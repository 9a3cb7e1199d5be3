import type { UsageRowView } from '#contract/money.ts';
import { type DailySeries, dailySeries } from '../../charts/daily-series.ts';
import { dollars } from '../../format/format-money.ts';
import type { Measure } from './usage-url.ts';

/** Daily series by model, key or both, the most expensive first. */
export function usageSeries(
  rows: readonly UsageRowView[],
  days: readonly string[],
  measure: Measure,
): readonly DailySeries[] {
  const values = rows.map((row) => ({
    day: row.day,
    id: [row.model, row.keyId].filter((part) => part !== undefined).join(' '),
    label: labelOf(row),
    value: measured(row, measure),
    weight: BigInt(row.costNanoUsd),
  }));
  return dailySeries(values, days);
}

function labelOf({ model, keyId, keyName }: UsageRowView): string {
  const parts = [model, keyName ?? keyId].filter((part) => part !== undefined);
  return parts.length === 0 ? 'All' : parts.join(' · ');
}

function measured(row: UsageRowView, measure: Measure): number {
  switch (measure) {
    case 'cost':
      return dollars(row.costNanoUsd);
    case 'requests':
      return row.requests;
    case 'tokens':
      return row.promptTokens + row.completionTokens;
  }
}
