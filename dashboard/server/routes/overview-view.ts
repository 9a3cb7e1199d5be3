import type { Overview, OverviewGroup, OverviewRange, OverviewSeries, OverviewTotals } from '#contract/organization.ts';
import { DAY_MS } from '#core/clock.ts';
import { present } from '#core/present.ts';
import type { OverviewCells, OverviewPeriod, SeriesCell } from '#database/process-reports/overview-reads.ts';
import { percentileMs } from './percentile.ts';

const HOUR_MS = 3_600_000;

/** `7d` has 28 steps of six hours, so that four steps are a UTC day. */
const STEPS = {
  '24h': { stepMs: HOUR_MS, count: 24 },
  '7d': { stepMs: 6 * HOUR_MS, count: 28 },
  '30d': { stepMs: DAY_MS, count: 30 },
} as const satisfies Record<OverviewRange, { stepMs: number; count: number }>;

const MAX_FAILURE_CODES = 5;
const [MEDIAN, TAIL] = [0.5, 0.95];

/** Whole steps. The last one is still in progress. */
export function overviewPeriod(
  organizationId: string,
  range: OverviewRange,
  by: OverviewGroup,
  nowMs: number,
): OverviewPeriod {
  const { stepMs, count } = STEPS[range];
  const toMs = (Math.floor(nowMs / stepMs) + 1) * stepMs;
  return { organizationId, by, stepMs, isDaily: stepMs === DAY_MS, fromMs: toMs - count * stepMs, toMs };
}

export function overviewOf(range: OverviewRange, period: OverviewPeriod, cells: OverviewCells): Overview {
  const { fromMs, toMs, stepMs } = period;
  const stepStartsMs = Array.from({ length: (toMs - fromMs) / stepMs }, (_, step) => fromMs + step * stepMs);
  const stepOf = ({ startMs }: SeriesCell) => Math.round((startMs - fromMs) / stepMs);
  return {
    range,
    stepStartsMs,
    series: seriesOf(cells.series, stepStartsMs.length, stepOf),
    totals: totalsOf(cells, false),
    before: totalsOf(cells, true),
  };
}

function seriesOf(
  cells: readonly SeriesCell[],
  steps: number,
  stepOf: (cell: SeriesCell) => number,
): readonly OverviewSeries[] {
  const byRank = Map.groupBy(cells, ({ rank }) => rank ?? Number.POSITIVE_INFINITY);
  return [...byRank]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, ofGroup]) => {
      const costNanoUsd = Array<string>(steps).fill('0');
      const requests = Array<number>(steps).fill(0);
      const tokens = Array<number>(steps).fill(0);
      for (const cell of ofGroup) {
        const step = stepOf(cell);
        costNanoUsd[step] = cell.cost;
        requests[step] = cell.requests;
        tokens[step] = cell.tokens;
      }
      const { id = null, name = null } = ofGroup[0] ?? {};
      const named = id === null ? { label: 'Other' } : { id, label: name ?? id };
      return { ...named, costNanoUsd, requests, tokens };
    });
}

function totalsOf({ totals, spend, firstEvents }: OverviewCells, isBefore: boolean): OverviewTotals {
  const codes = totals.filter((cell) => cell.isBefore === isBefore);
  const spent = (spend ?? totals).filter((cell) => cell.isBefore === isBefore);
  const failures = codes.filter(({ code }) => code !== '').sort((a, b) => b.requests - a.requests);
  const buckets = firstEvents.find((cell) => cell.isBefore === isBefore)?.buckets ?? [];
  const firstEventP50Ms = percentileMs(buckets, MEDIAN);
  const firstEventP95Ms = percentileMs(buckets, TAIL);
  return {
    costNanoUsd: spent.reduce((sum, { cost }) => sum + BigInt(cost), 0n).toString(),
    requests: sumOf(codes, 'requests'),
    failures: sumOf(failures, 'requests'),
    promptTokens: sumOf(spent, 'promptTokens'),
    completionTokens: sumOf(spent, 'completionTokens'),
    ...present({ firstEventP50Ms, firstEventP95Ms }),
    failureCodes: failures.slice(0, MAX_FAILURE_CODES).map(({ code, requests }) => ({ code, requests })),
  };
}

function sumOf<Name extends string>(cells: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return cells.reduce((sum, cell) => sum + cell[name], 0);
}
