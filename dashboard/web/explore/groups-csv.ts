import type { ExploreTotals } from '#contract/explore.ts';
import type { Measure } from '#contract/explore-search.ts';
import { csvLine, csvUsd } from '#core/csv.ts';
import { type Figures, MEASURE_VIEWS, shownMeasures } from './explore-figures.ts';
import type { Explored } from './use-explore.ts';

const HEADS: Readonly<Record<Measure, string>> = {
  cost: 'cost_usd',
  margin: 'known_margin_usd',
  requests: 'requests',
  failures: 'errors',
  tokens: 'tokens',
  cached: 'cached_share',
  p50: 'first_event_p50_ms',
  p95: 'first_event_p95_ms',
  speed: 'tokens_per_second',
};

/** Lines of the groups, of all others together if there are more, and of the total. */
export function groupsCsv(explored: Explored): readonly string[] {
  const { by, groups, groupCount, totals } = explored;
  const measures = shownMeasures(totals);
  const line = (label: string, id: string | undefined, figures: Figures) =>
    csvLine([label, id, ...measures.map((measure) => valueIn(figures, measure))]);
  return [
    csvLine([by, 'id', ...measures.map((measure) => HEADS[measure])]),
    ...groups.map((group) => line(group.label, group.id, group.totals)),
    ...(groupCount > groups.length ? [line('Other', undefined, othersOf(explored))] : []),
    line('Total', undefined, totals),
  ];
}

/** Amounts are exact, and not as rounded as in charts. */
function valueIn(figures: Figures, measure: Measure) {
  const { costNanoUsd, knownRevenueNanoUsd, providerCostNanoUsd } = figures;
  if (measure === 'cost') return csvUsd(costNanoUsd);
  if (measure !== 'margin') return MEASURE_VIEWS[measure].of(figures);
  if (knownRevenueNanoUsd === undefined || providerCostNanoUsd === undefined) return undefined;
  return csvUsd(String(BigInt(knownRevenueNanoUsd) - BigInt(providerCostNanoUsd)));
}

const SUMS = [
  ...(['requests', 'failures', 'promptTokens', 'completionTokens', 'cachedTokens'] as const),
  ...(['costNanoUsd', 'providerCostNanoUsd', 'knownRevenueNanoUsd'] as const),
] satisfies readonly (keyof ExploreTotals)[];

/** The total less the groups. Times and speeds of the others are unknown. */
function othersOf({ groups, totals }: Explored): Figures {
  const rest = SUMS.filter((name) => totals[name] !== undefined).map((name) => {
    const sum = groups.reduce((left, group) => left - BigInt(group.totals[name] ?? 0), BigInt(totals[name] ?? 0));
    return [name, name.endsWith('NanoUsd') ? String(sum) : Number(sum)];
  });
  return Object.fromEntries(rest) as unknown as Figures;
}
