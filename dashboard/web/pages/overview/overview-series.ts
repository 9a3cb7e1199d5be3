import type { OverviewSeries } from '../../../contract/organization.ts';
import { dollars } from '../../format/format-money.ts';

export type OverviewMeasure = 'cost' | 'requests' | 'tokens';

export interface ShownSeries {
  readonly id: string;
  readonly label: string;
  readonly isOther: boolean;
  readonly values: readonly number[];
}

/** No model or key has this for its id. */
export const OTHER_ID = '*';

/**
 * Series in the order that they were shown in before, as long as they are the same ones: two that overtake each other by a cent while
 * somebody looks must not swap their colours. Others are shown as they came, largest first.
 */
export function inKnownOrder(series: readonly OverviewSeries[], known: readonly string[]): readonly OverviewSeries[] {
  const byId = new Map(series.map((one) => [seriesId(one), one]));
  if (byId.size !== known.length || !known.every((id) => byId.has(id))) return series;
  return known.flatMap((id) => byId.get(id) ?? []);
}

export function seriesId({ id }: OverviewSeries): string {
  return id ?? OTHER_ID;
}

/** What a chart draws of them. */
export function shownSeries(series: readonly OverviewSeries[], measure: OverviewMeasure): readonly ShownSeries[] {
  return series.map((one) => ({
    id: seriesId(one),
    label: one.label,
    isOther: one.id === undefined,
    values: measure === 'cost' ? one.costNanoUsd.map(dollars) : one[measure],
  }));
}

/** The ids after a click on a legend's entry. The last one that is shown cannot be left out: a chart of nothing says nothing. */
export function toggleHidden(hidden: ReadonlySet<string>, id: string, all: readonly string[]): ReadonlySet<string> {
  const next = new Set(hidden);
  if (!next.delete(id)) next.add(id);
  return all.some((one) => !next.has(one)) ? next : hidden;
}
