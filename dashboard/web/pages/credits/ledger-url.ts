import { readTimeRange, type TimeRange } from '../../search/time-range.ts';
import { oneOf, type RawUrl, type UrlState, urlReader } from '../../search/url-values.ts';

const readKind = urlReader({ kind: oneOf(['credit', 'charge']) });

export type LedgerUrlState = UrlState<typeof readKind> & TimeRange;

export function readLedgerUrl(raw: RawUrl): LedgerUrlState {
  return { ...readKind(raw), ...readTimeRange(raw) };
}
