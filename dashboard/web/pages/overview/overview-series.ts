import type { OverviewSeries } from '#contract/organization.ts';
import { dollars } from '../../format/format.ts';

export type OverviewMeasure = 'cost' | 'requests' | 'tokens';

export interface ShownSeries {
  readonly id: string;
  readonly label: string;
  readonly isOther: boolean;
  readonly values: readonly number[];
}

/** Not a possible id of a model or key. */
export const OTHER_ID = '*';

/**
 * Keeps the known order if the series are the same: two series that overtake each other by a cent
 * must not swap colours. Otherwise largest first.
 */
export function inKnownOrder(series: readonly OverviewSeries[], known: readonly string[]): readonly OverviewSeries[] {
  const byId = new Map(series.map((one) => [seriesId(one), one]));
  if (byId.size !== known.length || !known.every((id) => byId.has(id))) return series;
  return known.flatMap((id) => byId.get(id) ?? []);
}

export function seriesId({ id }: OverviewSeries): string {
  return id ?? OTHER_ID;
}

/** Series as the charts draw them. */
export function shownSeries(series: readonly OverviewSeries[], measure: OverviewMeasure): readonly ShownSeries[] {
  return series.map((one) => ({
    id: seriesId(one),
    label: one.label,
    isOther: one.id === undefined,
    values: measure === 'cost' ? one.costNanoUsd.map(dollars) : one[measure],
  }));
}
