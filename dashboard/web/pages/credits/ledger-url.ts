import { readTimeRange, type TimeRange } from '../../search/time-range.ts';
import { idOf, oneOf, type RawUrl, type UrlState, urlReader } from '../../search/url-values.ts';

const readKind = urlReader({ kind: oneOf(['credit', 'charge']) });

export type LedgerUrlState = UrlState<typeof readKind> & TimeRange;

export function readLedgerUrl(raw: RawUrl): LedgerUrlState {
  return { ...readKind(raw), ...readTimeRange(raw) };
}

const readPayments = urlReader({ topUp: idOf('top'), card: oneOf(['saved']), dialog: oneOf(['top-up']) });

/** `topUp` and `card` are in the address with which Stripe sends a payer back. */
export type PaymentsUrlState = UrlState<typeof readPayments>;
export type CreditsUrlState = LedgerUrlState & PaymentsUrlState;

export function readCreditsUrl(raw: RawUrl): CreditsUrlState {
  return { ...readLedgerUrl(raw), ...readPayments(raw) };
}
