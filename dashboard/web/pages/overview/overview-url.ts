import type { OverviewGroup, OverviewRange } from '#contract/organization.ts';
import { oneOf, type UrlState, urlReader } from '../../search/url-values.ts';

export const DEFAULT_RANGE: OverviewRange = '7d';
export const DEFAULT_GROUP: OverviewGroup = 'model';

export const RANGES: readonly { readonly value: OverviewRange; readonly label: string }[] = [
  { value: '24h', label: '24 h' },
  { value: '7d', label: '7 d' },
  { value: '30d', label: '30 d' },
];

/** For comparisons: `12% less than in the 24 hours before`. */
export const RANGE_LABELS: Readonly<Record<OverviewRange, string>> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
};

export const readOverviewUrl = urlReader({ range: oneOf(['24h', '7d', '30d']), by: oneOf(['model', 'key']) });

export type OverviewUrlState = UrlState<typeof readOverviewUrl>;

/** Leaves out the default, so that the plain link stays plain. */
export function withRange(search: OverviewUrlState, range: OverviewRange): OverviewUrlState {
  return { ...search, range: range === DEFAULT_RANGE ? undefined : range };
}

export function withGroup(search: OverviewUrlState, by: OverviewGroup): OverviewUrlState {
  return { ...search, by: by === DEFAULT_GROUP ? undefined : by };
}
