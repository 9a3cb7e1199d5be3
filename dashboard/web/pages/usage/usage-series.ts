import type { UsageRowView } from '../../../contract/money.ts';
import { dollars } from '../../format/format-money.ts';
import type { Measure } from './usage-url.ts';

/** A series of the chart, with a value for each day. */
export interface DailySeries {
  readonly id: string;
  readonly label: string;
  readonly values: readonly number[];
}

/** Number of distinguishable colours. */
export const MAX_SERIES = 8;
export const OTHERS = 'others';

/**
 * Daily series by model, key or both: the most expensive first, the rest as one sum. The order does
 * not depend on the measure, so that colours stay. Missing days are zero; days outside the axis are
 * left out.
 */
export function usageSeries(
  rows: readonly UsageRowView[],
  days: readonly string[],
  measure: Measure,
): readonly DailySeries[] {
  const places = new Map(days.map((day, place) => [day, place]));
  const found = new Map<string, Found>();
  for (const row of rows) {
    const place = places.get(row.day ?? '');
    if (place === undefined) continue;
    const id = [row.model, row.keyId].filter((part) => part !== undefined).join(' ');
    const series = found.get(id) ?? { id, label: labelOf(row), values: days.map(() => 0), costNanoUsd: 0n };
    found.set(id, series);
    series.values[place] = (series.values[place] ?? 0) + measured(row, measure);
    series.costNanoUsd += BigInt(row.costNanoUsd);
  }
  const sorted = [...found.values()]
    .sort((a, b) => Number(b.costNanoUsd - a.costNanoUsd) || total(b) - total(a) || (a.label < b.label ? -1 : 1))
    .map(({ id, label, values }): DailySeries => ({ id, label, values }));
  if (sorted.length <= MAX_SERIES) return sorted;
  const rest = sorted.slice(MAX_SERIES);
  const values = days.map((_, place) => rest.reduce((sum, series) => sum + (series.values[place] ?? 0), 0));
  return [...sorted.slice(0, MAX_SERIES), { id: OTHERS, label: `${rest.length} others`, values }];
}

interface Found extends DailySeries {
  readonly values: number[];
  costNanoUsd: bigint;
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

function total({ values }: Found): number {
  return values.reduce((sum, value) => sum + value, 0);
}
