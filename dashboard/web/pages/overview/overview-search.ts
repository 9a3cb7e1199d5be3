import type { OverviewGroup, OverviewRange } from '../../../contract/organization.ts';
import { oneOf, type RawSearch } from '../../search/search-values.ts';

export interface OverviewSearch {
  readonly range?: OverviewRange | undefined;
  readonly by?: OverviewGroup | undefined;
}

export const DEFAULT_RANGE: OverviewRange = '7d';
export const DEFAULT_GROUP: OverviewGroup = 'model';

export const RANGES: readonly { readonly value: OverviewRange; readonly label: string }[] = [
  { value: '24h', label: '24 h' },
  { value: '7d', label: '7 d' },
  { value: '30d', label: '30 d' },
];

/** As figures are compared with it: `12% less than in the 24 hours before`. */
export const RANGE_WORDS: Readonly<Record<OverviewRange, string>> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
};

export function overviewSearch(raw: RawSearch): OverviewSearch {
  return { range: oneOf(raw, 'range', ['24h', '7d', '30d']), by: oneOf(raw, 'by', ['model', 'key']) };
}

/** The default is left out of the URL, so that the plain link stays plain. */
export function withRange(search: OverviewSearch, range: OverviewRange): OverviewSearch {
  return { ...search, range: range === DEFAULT_RANGE ? undefined : range };
}

export function withGroup(search: OverviewSearch, by: OverviewGroup): OverviewSearch {
  return { ...search, by: by === DEFAULT_GROUP ? undefined : by };
}
