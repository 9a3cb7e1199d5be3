import type { Stripe } from 'stripe';
import { isIdOf } from '#core/id-form.ts';
import { isObject } from '#core/json-object.ts';
import type { PaymentFacts, PaymentOutcome, Reversal } from '#database/payments/payment-facts.ts';
import type { DescribedTopUp } from '#database/payments/top-ups.ts';
import type { StripeClient } from './stripe-client.ts';

/** Metadata by which the dashboard recognizes its own payments. */
export interface TopUpMetadata {
  readonly gateway_top_up: string;
  readonly gateway_organization: string;
  readonly gateway_automatic: 'true' | 'false';
}

/** A payment has a handful of these. More than this would be an attack or a fault. */
const MOST_REVERSALS = 1_000;
const PAGE = 100;
const MAX_URL = 2_000;
const MAX_REASON = 300;
/** Shown for a bank debit, for example: a user who reads "Not paid yet" might pay again. */
const DELAYED = 'You have paid, but the bank has not confirmed it yet. That may take days.';

/** The top-up that a payment names. `undefined`: the payment is not of this dashboard. */
export async function topUpOfPayment(stripe: StripeClient, id: string): Promise<DescribedTopUp | undefined> {
  const { amount, metadata } = await stripe.paymentIntents.retrieve(id);
  const {
    gateway_top_up: topUpId = '',
    gateway_organization: organizationId = '',
    gateway_automatic: word,
  } = metadata ?? {};
  if (!isIdOf('top', topUpId)) return undefined;
  const automatic = word === 'true' || word === 'false' ? { automatic: word === 'true' } : {};
  return { id: topUpId, organizationId, amountCents: BigInt(amount), paymentIntentId: id, ...automatic };
}

/** All that Stripe has about a payment. `isCheckoutOver`: nobody can try another card there. */
export async function readPayment(stripe: StripeClient, id: string, isCheckoutOver = false): Promise<PaymentFacts> {
  const [payment, refunds, disputes] = await Promise.all([
    stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] }),
    stripe.refunds.list({ payment_intent: id, limit: PAGE }).autoPagingToArray({ limit: MOST_REVERSALS }),
    stripe.disputes.list({ payment_intent: id, limit: PAGE }).autoPagingToArray({ limit: MOST_REVERSALS }),
  ]);
  return {
    paymentIntentId: payment.id,
    topUpId: payment.metadata?.gateway_top_up ?? '',
    organizationId: payment.metadata?.gateway_organization ?? '',
    currency: payment.currency,
    outcome: outcomeOf(payment, isCheckoutOver),
    reversals: [...refunds.map(reversalOfRefund), ...disputes.map((dispute) => reversalOfDispute(dispute, payment))],
  };
}

function outcomeOf(payment: Stripe.PaymentIntent, isCheckoutOver: boolean): PaymentOutcome {
  const { status, amount_received, latest_charge: charge, last_payment_error: error, metadata } = payment;
  if (status === 'succeeded') {
    const url = typeof charge === 'object' ? charge?.receipt_url : undefined;
    const receipt = url?.startsWith('https://') && url.length <= MAX_URL ? { receiptUrl: url } : {};
    return { kind: 'paid', amountCents: BigInt(amount_received), ...receipt };
  }
  if (status === 'canceled') return { kind: 'failed', reason: 'The payment was cancelled.' };
  // In Checkout a person may still try another card. A bank may refuse a debit days after Checkout.
  const isOver =
    metadata?.gateway_automatic === 'true'
      ? isObject(error) || status === 'requires_action'
      : isCheckoutOver && status === 'requires_payment_method';
  if (isOver) return { kind: 'failed', reason: refusalText(error?.message) };
  return isCheckoutOver && status === 'processing' ? { kind: 'open', reason: DELAYED } : { kind: 'open' };
}

/** Stripe's message, shown to people. */
export function refusalText(message: string | null | undefined): string {
  return message ? message.slice(0, MAX_REASON) : 'The card was declined.';
}

/** Money of a refund is taken when the refund is requested, unless it fails. */
export function isRefundTaken({ status }: Stripe.Refund): boolean {
  return status !== 'failed' && status !== 'canceled';
}

function reversalOfRefund(refund: Stripe.Refund): Reversal {
  return { id: refund.id, kind: 'refund', amountCents: isRefundTaken(refund) ? BigInt(refund.amount) : 0n };
}

/**
 * Statuses in which the operator has the disputed amount. An inquiry (`warning_…`) takes none. In
 * all others, including those that Stripe may add, the bank has it.
 */
const NOT_TAKEN = /^(won|prevented|warning_.*)$/;

export function isDisputeTaken({ status }: Stripe.Dispute): boolean {
  return !NOT_TAKEN.test(status);
}

function reversalOfDispute(dispute: Stripe.Dispute, payment: Stripe.PaymentIntent): Reversal {
  const { id, amount, currency } = dispute;
  // A bank may dispute in its own currency, which we cannot convert.
  const disputed = currency === payment.currency ? amount : payment.amount_received;
  return { id, kind: 'dispute', amountCents: isDisputeTaken(dispute) ? BigInt(disputed) : 0n };
}
