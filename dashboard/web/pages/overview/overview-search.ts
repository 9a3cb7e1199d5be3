import { oneOf, type RawSearch } from '../../search-values.ts';

export interface OverviewSearch {
  readonly range?: '24h' | '7d' | '30d' | undefined;
  readonly by?: 'model' | 'key' | undefined;
}

export function overviewSearch(raw: RawSearch): OverviewSearch {
  return { range: oneOf(raw, 'range', ['24h', '7d', '30d']), by: oneOf(raw, 'by', ['model', 'key']) };
}
