import type { CostRowView } from '#contract/costs.ts';
import { spanOf } from '#contract/explore-search.ts';
import { DAY_MS } from '#core/clock.ts';
import { type ChartSeries, sumOf } from '../../charts/chart-data.ts';
import { dollars, formatPercent, utcDay } from '../../format/format.ts';
import { COSTS_RANGE, type CostMeasure, type CostsState } from '../searches.ts';

/** Maximum of the server. */
const MOST_DAYS = 366;

/** UTC days of an address. Seven days include today, a range every day that it touches. */
export function costDays({ range = COSTS_RANGE, fromMs, toMs }: CostsState, nowMs: number): readonly string[] {
  const span = spanOf({ range, fromMs, toMs }, nowMs);
  const isChosen = fromMs !== undefined || toMs !== undefined;
  const end = Math.ceil(span.toMs / DAY_MS);
  const first = isChosen ? Math.floor(span.fromMs / DAY_MS) : Math.ceil(span.fromMs / DAY_MS);
  const begin = Math.max(first, end - MOST_DAYS);
  return Array.from({ length: end - begin }, (_, later) => utcDay((begin + later) * DAY_MS));
}

/** Displayed name of a row's subject. */
export function subjectOf({ model, provider, organizationName, organizationId }: CostRowView): string {
  return model ?? provider ?? organizationName ?? organizationId ?? 'All';
}

/** `undefined`: unknown, because some target has no costs. */
export function amountOf(row: CostRowView, measure: CostMeasure): string | undefined {
  return row[`${measure}NanoUsd`];
}

/** The part of a row whose cost is known, if that is not the whole row. `undefined`: no part. */
export function knownPart({ revenueNanoUsd, known }: CostRowView) {
  if (known === undefined) return undefined;
  const [revenue, cost] = [BigInt(known.revenueNanoUsd), BigInt(known.costNanoUsd)];
  // Never 100 %, because a part is unknown.
  const share = Math.min(0.99, Math.floor((Number(revenue) / Number(revenueNanoUsd)) * 100) / 100);
  return {
    share,
    cost: cost.toString(),
    margin: (revenue - cost).toString(),
    rate: Number(revenue - cost) / Number(revenue),
  };
}

/** An amount, or its known part. A margin also has its share of the revenue. */
export function shownAmount(row: CostRowView, measure: CostMeasure) {
  const whole = amountOf(row, measure);
  const part = measure === 'cost' || measure === 'margin' ? knownPart(row) : undefined;
  const share = part?.rate ?? Number(whole) / Number(row.revenueNanoUsd);
  return {
    amount: whole ?? (measure === 'margin' ? part?.margin : part?.cost),
    rate: measure === 'margin' && Number.isFinite(share) ? formatPercent(share) : undefined,
    known: part && `known for ${formatPercent(part.share)}`,
  };
}

/** Values by which the table is sorted. Unknown amounts have none. */
export function sortedValue(row: CostRowView, sort: NonNullable<CostsState['sort']>) {
  if (sort === 'requests') return row.requests;
  if (sort === 'subject') return row.day ?? subjectOf(row);
  const amount = amountOf(row, sort);
  return amount === undefined ? undefined : BigInt(amount);
}

/** Number of distinguishable colours. */
const MOST_SERIES = 8;

/**
 * Daily series of a measure, ordered by revenue, with the rest as one sum. Of a day that is known
 * in part the part counts, as in the table. A day of which nothing is known has no value, and a
 * series without any known day is left out.
 */
export function costSeries(
  rows: readonly CostRowView[],
  days: readonly string[],
  measure: CostMeasure,
): readonly ChartSeries[] {
  const inDollars = (row: CostRowView) => {
    const { amount } = shownAmount(row, measure);
    return amount === undefined ? undefined : dollars(amount);
  };
  const revenueOf = (of: readonly CostRowView[]) => of.reduce((sum, row) => sum + Number(row.revenueNanoUsd), 0);
  const known = [...Map.groupBy(rows, (row) => row.organizationId ?? subjectOf(row))]
    .filter(([, of]) => of.some((row) => inDollars(row) !== undefined))
    .sort(([, a], [, b]) => revenueOf(b) - revenueOf(a));
  const rest = known.splice(MOST_SERIES);
  const shown = known.map(([id, of]) => ({ id, label: of[0] ? subjectOf(of[0]) : id, of }));
  const others = { id: '*', label: `${rest.length} others`, isOther: true, of: rest.flatMap(([, of]) => of) };
  return [...shown, ...(rest.length > 0 ? [others] : [])].map(({ of, ...one }) => {
    const byDay = Map.groupBy(of, ({ day }) => day);
    return { ...one, values: days.map((day) => sumOf((byDay.get(day) ?? []).map(inDollars))) };
  });
}
