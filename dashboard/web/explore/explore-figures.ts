import type { Explore, ExploreSteps, ExploreTotals } from '#contract/explore.ts';
import { MEASURES, type Measure } from '#contract/explore-search.ts';
import { DAY_MS } from '#core/clock.ts';
import { present } from '#core/present.ts';
import type { ChartProps, ChartSeries, ChartValue } from '../charts/chart-data.ts';
import { dollars, formatCompact, formatDollars, formatDuration, formatPercent } from '../format/format.ts';

/** Figures of a step, a group or the whole range. */
type Unsure = 'firstEventP50Ms' | 'firstEventP95Ms' | 'tokensPerSecond';
export type Figures = Omit<ExploreTotals, Unsure> & { readonly [Name in Unsure]?: number | null };

export interface MeasureView {
  readonly label: string;
  /** Shares, medians and possibly negative amounts are not stacked. */
  readonly kind: ChartProps['kind'];
  readonly format: ChartProps['format'];
  readonly of: (figures: Figures) => ChartValue;
  readonly upIsBad?: boolean;
}

export const MEASURE_VIEWS: Readonly<Record<Measure, MeasureView>> = {
  cost: {
    ...{ label: 'Spend', kind: 'stacked-bars', format: formatDollars },
    of: ({ costNanoUsd }) => dollars(costNanoUsd),
  },
  margin: { label: 'Known margin', kind: 'lines', format: formatDollars, of: margin },
  requests: { label: 'Requests', kind: 'stacked-bars', format: formatCompact, of: ({ requests }) => requests },
  failures: {
    ...{ label: 'Errors', kind: 'stacked-bars', format: formatCompact, upIsBad: true },
    of: ({ failures }) => failures,
  },
  tokens: {
    ...{ label: 'Tokens', kind: 'stacked-bars', format: formatCompact },
    of: ({ promptTokens, completionTokens }) => promptTokens + completionTokens,
  },
  cached: {
    ...{ label: 'Cached input', kind: 'lines', format: formatPercent },
    of: ({ cachedTokens, promptTokens }) => shareOf(cachedTokens, promptTokens),
  },
  p50: {
    ...{ label: 'First token, p50', kind: 'lines', format: formatDuration, upIsBad: true },
    of: ({ firstEventP50Ms }) => firstEventP50Ms ?? undefined,
  },
  p95: {
    ...{ label: 'First token, p95', kind: 'lines', format: formatDuration, upIsBad: true },
    of: ({ firstEventP95Ms }) => firstEventP95Ms ?? undefined,
  },
  speed: {
    ...{ label: 'Tokens per second', kind: 'lines', format: (value) => formatCompact(Math.round(value)) },
    of: ({ tokensPerSecond }) => tokensPerSecond ?? undefined,
  },
};

/** Margins are shown only to operators, and speeds only if single requests were read. */
export function shownMeasures(totals: ExploreTotals | undefined): readonly Measure[] {
  return MEASURES.filter(
    (one) => (one !== 'margin' && one !== 'speed') || (totals && MEASURE_VIEWS[one].of(totals) !== undefined),
  );
}

function margin({ providerCostNanoUsd, knownRevenueNanoUsd }: Figures): ChartValue {
  if (providerCostNanoUsd === undefined || knownRevenueNanoUsd === undefined) return undefined;
  return dollars((BigInt(knownRevenueNanoUsd) - BigInt(providerCostNanoUsd)).toString());
}

export function shareOf(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}

export function stepValues(steps: ExploreSteps, { of }: MeasureView): readonly ChartValue[] {
  return steps.requests.map((_, step) => {
    const fields = Object.entries(steps).map(([name, values]) => [name, (values as readonly unknown[])[step]]);
    return of(Object.fromEntries(fields) as Figures);
  });
}

/** Never the id of a group. */
const OTHER_ID = '*';

/** A class keeps its colour when others come and go. 5xx has the one nearest to red. */
const STATUS_COLOURS: Readonly<Record<string, number>> = { '2xx': 0, '4xx': 2, '499': 5, '5xx': 7 };

/** Series for the chart. Lines without known values are left out. */
export function chartSeries({ series }: Explore, measure: MeasureView, unnamed = 'None'): readonly ChartSeries[] {
  const shown = series.map(({ id = OTHER_ID, label, steps }) => ({
    id,
    label: id === '' ? unnamed : label,
    isOther: id === OTHER_ID,
    ...present({ colour: STATUS_COLOURS[id] }),
    values: stepValues(steps, measure),
  }));
  return shown.filter(({ values }) => values.some((value) => value !== undefined));
}

/**
 * Keeps the known order if the series are the same, so that two series with nearly equal sums do
 * not swap colours. Otherwise keeps the given order, largest first.
 */
export function inKnownOrder(series: readonly ChartSeries[], known: readonly string[]): readonly ChartSeries[] {
  const byId = new Map(series.map((one) => [one.id, one]));
  if (byId.size !== known.length || !known.every((id) => byId.has(id))) return series;
  return known.flatMap((id) => byId.get(id) ?? []);
}

/** Number of days that a balance lasts at the range's rate. Absent without spend. */
export function daysLeft(balanceNanoUsd: string, costNanoUsd: string, rangeMs: number): number | undefined {
  if (BigInt(costNanoUsd) <= 0n) return undefined;
  return Math.max(0, Number(balanceNanoUsd) / (Number(costNanoUsd) / (rangeMs / DAY_MS)));
}
