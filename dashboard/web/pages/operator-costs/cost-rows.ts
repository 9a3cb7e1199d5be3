import type { CostRowView } from '#contract/costs.ts';
import { type DailySeries, dailySeries } from '../../charts/daily-series.ts';
import { dollars } from '../../format/format.ts';
import { type Order, sortRows } from '../../reports/sorting.ts';
import type { CostMeasure, CostsState } from '../searches.ts';

/** Name of what a row is about, as people know it. */
export function subjectOf({ model, provider, organizationName, organizationId }: CostRowView): string {
  return model ?? provider ?? organizationName ?? organizationId ?? 'All';
}

/** `undefined`: unknown, because a target has no cost. */
export function amountOf(row: CostRowView, measure: CostMeasure): string | undefined {
  return row[`${measure}NanoUsd`];
}

/** The part of a row whose cost is known, unless it is all of it. `undefined`: nothing is known. */
export function knownPart({ revenueNanoUsd, known }: CostRowView) {
  if (known === undefined) return undefined;
  const [revenue, cost] = [BigInt(known.revenueNanoUsd), BigInt(known.costNanoUsd)];
  // Never 100 %: something is not known.
  const share = Math.min(0.99, Math.floor((Number(revenue) / Number(revenueNanoUsd)) * 100) / 100);
  return {
    share,
    cost: cost.toString(),
    margin: (revenue - cost).toString(),
    rate: Number(revenue - cost) / Number(revenue),
  };
}

/** Unknown amounts come last, whatever the order. Equal rows keep the order of the server. */
export function sortCosts(
  rows: readonly CostRowView[],
  sort: NonNullable<CostsState['sort']>,
  order: Order,
): readonly CostRowView[] {
  return sortRows(rows, order, (row) => {
    if (sort === 'day' || sort === 'requests') return row[sort];
    if (sort === 'subject') return subjectOf(row);
    const amount = amountOf(row, sort);
    return amount === undefined ? undefined : BigInt(amount);
  });
}

/**
 * Daily series of a measure, the largest revenue first. A day of unknown amount has no value, and a
 * series without a known day is left out.
 */
export function costSeries(
  rows: readonly CostRowView[],
  days: readonly string[],
  measure: CostMeasure,
): readonly DailySeries[] {
  const values = rows.map((row) => {
    const amount = amountOf(row, measure);
    const id = row.organizationId ?? subjectOf(row);
    const value = amount === undefined ? undefined : dollars(amount);
    return { day: row.day, id, label: subjectOf(row), value, weight: BigInt(row.revenueNanoUsd) };
  });
  const known = new Set(values.flatMap(({ id, value }) => (value === undefined ? [] : [id])));
  const shown = values.filter(({ id }) => known.has(id));
  return dailySeries(shown, days);
}
