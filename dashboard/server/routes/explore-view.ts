import type { Explore, ExploreGroup, ExploreSeries, ExploreSteps, ExploreTotals } from '#contract/explore.ts';
import { present } from '#core/present.ts';
import type { ExploreCell, Explored } from '#database/request-log/explore-reads.ts';

const [MEDIAN, TAIL] = [0.5, 0.95];
const BUCKETS = Array.from({ length: 11 }, (_, bucket) => bucket);

/** `showsMargin`: only operators may see what providers are paid. */
export function exploreView(explored: Explored, showsMargin: boolean): Explore {
  const { source, steps, cells, before, completeFromMs } = explored;
  const { stepMs, startsMs } = steps;
  const groups = cells.filter(({ step }) => step === null).sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  const stepped = cells.filter(({ step }) => step !== null);
  const completeStep = completeFromMs && startsMs.find((startMs) => startMs >= completeFromMs);
  return {
    stepMs,
    stepStartsMs: startsMs,
    series: seriesOf(stepped, groups, startsMs.length, showsMargin),
    groups: groups.map((group) => groupOf(group, showsMargin)),
    groupCount: groups[0]?.groupCount ?? 0,
    totals: totalsOf(stepped, showsMargin),
    ...(before === undefined ? {} : { before: beforeOf(before, startsMs.length, showsMargin) }),
    ...(source.startsWith('ledger') ? { chargedOnly: true } : {}),
    ...(completeFromMs === undefined
      ? {}
      : { partial: { completeFromMs: completeStep ?? Math.max(completeFromMs, steps.endMs) } }),
  };
}

function beforeOf(cells: readonly ExploreCell[], steps: number, showsMargin: boolean): NonNullable<Explore['before']> {
  const stepped = cells.filter(({ step }) => step !== null);
  return { totals: totalsOf(stepped, showsMargin), steps: stepsOf(stepped, steps, showsMargin) };
}

function seriesOf(
  stepped: readonly ExploreCell[],
  groups: readonly ExploreCell[],
  steps: number,
  showsMargin: boolean,
): readonly ExploreSeries[] {
  const byRank = Map.groupBy(stepped, ({ rank }) => rank ?? Number.POSITIVE_INFINITY);
  return [...byRank]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([rank, ofGroup]) => ({
      ...nameOf(groups.find((group) => group.rank === rank)),
      steps: stepsOf(ofGroup, steps, showsMargin),
    }));
}

function nameOf(group: ExploreCell | undefined): Pick<ExploreSeries, 'id' | 'label'> {
  const id = group?.id ?? undefined;
  return id === undefined ? { label: 'Other' } : { id, label: group?.label ?? id };
}

function groupOf(group: ExploreCell, showsMargin: boolean): ExploreGroup {
  const balanceNanoUsd = group.balance ?? undefined;
  return { ...nameOf(group), totals: totalsOf([group], showsMargin), ...present({ balanceNanoUsd }) };
}

type Amount = 'cost' | 'provider_cost' | 'known_revenue';
type Count = 'requests' | 'failures' | 'prompt' | 'completion' | 'cached' | 'timed_tokens' | 'timed_ms';

function sum(cells: readonly ExploreCell[], name: Count | `b${number}`): number {
  return cells.reduce((total, cell) => total + (cell[name] ?? 0), 0);
}

function amount(cells: readonly ExploreCell[], name: Amount): string {
  return cells.reduce((total, cell) => total + BigInt(cell[name] ?? 0), 0n).toString();
}

function speedOf(cells: readonly ExploreCell[]): number | undefined {
  const ms = sum(cells, 'timed_ms');
  return ms === 0 ? undefined : (sum(cells, 'timed_tokens') * 1000) / ms;
}

/** Undefined: there is none. */
function figuresOf(cells: readonly ExploreCell[], showsMargin: boolean) {
  const buckets = BUCKETS.map((bucket) => sum(cells, `b${bucket}`));
  return {
    requests: sum(cells, 'requests'),
    failures: sum(cells, 'failures'),
    costNanoUsd: amount(cells, 'cost'),
    promptTokens: sum(cells, 'prompt'),
    completionTokens: sum(cells, 'completion'),
    cachedTokens: sum(cells, 'cached'),
    firstEventP50Ms: percentileMs(buckets, MEDIAN),
    firstEventP95Ms: percentileMs(buckets, TAIL),
    tokensPerSecond: speedOf(cells),
    ...(showsMargin
      ? { providerCostNanoUsd: amount(cells, 'provider_cost'), knownRevenueNanoUsd: amount(cells, 'known_revenue') }
      : {}),
  };
}

function totalsOf(cells: readonly ExploreCell[], showsMargin: boolean): ExploreTotals {
  return present(figuresOf(cells, showsMargin));
}

function stepsOf(cells: readonly ExploreCell[], count: number, showsMargin: boolean): ExploreSteps {
  const byStep = Map.groupBy(cells, ({ step }) => step);
  const each = Array.from({ length: count }, (_, step) => figuresOf(byStep.get(step) ?? [], showsMargin));
  const names = Object.keys(figuresOf([], showsMargin)) as (keyof ExploreTotals)[];
  const figures = names.map((name) => [name, each.map((figure) => figure[name] ?? null)]);
  return Object.fromEntries(figures) as ExploreSteps;
}

/** Upper bounds of the buckets in ms (database/schema/tables.sql). The last has none. */
const BOUNDS_MS = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600];

/**
 * The latency in milliseconds below which a fraction of the completions stayed. Interpolates
 * linearly within a bucket, so the error is at most half a bucket in practice. Returns the last
 * bound for latencies above it, and `undefined` without any completion.
 */
export function percentileMs(buckets: readonly number[], fraction: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let left = total * fraction;
  let lowerMs = 0;
  for (const [bucket, upperMs] of BOUNDS_MS.entries()) {
    const count = buckets[bucket] ?? 0;
    if (count > 0 && left <= count) return Math.round(lowerMs + ((upperMs - lowerMs) * left) / count);
    left -= count;
    lowerMs = upperMs;
  }
  return lowerMs;
}
