/** State of a payment, read from Stripe, so that forged or outdated events have no effect. */
export interface PaymentFacts {
  readonly paymentIntentId: string;
  /** Written into the payment by the dashboard. */
  readonly topUpId: string;
  readonly organizationId: string;
  /** In lower case, such as `usd`. */
  readonly currency: string;
  readonly outcome: PaymentOutcome;
  readonly reversals: readonly Reversal[];
}

export type PaymentOutcome =
  /** Not paid yet. `reason`: why that takes long, shown to people. */
  | { readonly kind: 'open'; readonly reason?: string }
  | { readonly kind: 'paid'; readonly amountCents: bigint; readonly receiptUrl?: string }
  /** The payment ended unpaid. `reason` is shown to people. */
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
  /** A read of Stripe that began later was already applied. */
  | { readonly kind: 'outdated' }
  /** The payment is not of this dashboard, which may share its Stripe account. */
  | { readonly kind: 'unknown' }
  /** The payment does not match the top-up. Entries: of reversals, if an operator booked it. */
  | { readonly kind: 'refused'; readonly reason: string; readonly entries: number };
