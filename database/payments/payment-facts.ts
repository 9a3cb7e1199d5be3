/**
 * State of one payment at Stripe. Events only name the payment; facts are read from Stripe, so
 * that neither a forged event nor an old one can say anything.
 */
export interface PaymentFacts {
  readonly paymentIntentId: string;
  /** As written into the payment by the dashboard. */
  readonly topUpId: string;
  readonly organizationId: string;
  /** Lower case, `usd`. */
  readonly currency: string;
  readonly outcome: PaymentOutcome;
  readonly reversals: readonly Reversal[];
}

export type PaymentOutcome =
  /** Not paid yet. */
  | { readonly kind: 'open' }
  | { readonly kind: 'paid'; readonly amountCents: bigint; readonly receiptUrl?: string }
  /** Over, and not paid. `reason` is for people. */
  | { readonly kind: 'failed'; readonly reason: string };

/** A refund or a dispute. */
export interface Reversal {
  readonly id: string;
  readonly kind: 'refund' | 'dispute';
  /** 0: the refund failed, or the dispute was won. */
  readonly amountCents: bigint;
}

export type SettledPayment =
  | { readonly kind: 'settled'; readonly entries: number }
  /** A read of Stripe that began later was applied before. */
  | { readonly kind: 'outdated' }
  /** Not a payment of this dashboard, which may share its account at Stripe. */
  | { readonly kind: 'unknown' }
  /** No match for the top-up. Nothing was booked. */
  | { readonly kind: 'refused'; readonly reason: string };
