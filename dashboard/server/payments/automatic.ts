import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { newId } from '#core/ids.ts';
import {
  beginAutomaticTopUps,
  type DueTopUp,
  endDueTopUp,
  failDueTopUp,
  takeDueTopUp,
} from '#database/payments/automatic-top-ups.ts';
import { metadataOf } from './checkout.ts';
import { settleForgottenPayments } from './forgotten-payments.ts';
import { refusalText } from './read-payment.ts';
import { type PaymentDeps, settleFromStripe } from './settle.ts';
import { isMissingAtStripe, isStripeAway, isStripeError, type StripeClient, stripeClient } from './stripe-client.ts';

/** Errors about this card or this payment, not about the operator's key. */
const REFUSALS = ['StripeCardError', 'StripeInvalidRequestError', 'StripeIdempotencyError'] as const;

/** Top-ups of one round. */
const MOST_DUE = 20;
/** Number of a customer's newest payments among which one is looked for. */
const MOST_PAYMENTS = 1_000;
const PAGE = 100;

/** Shown to people, because Stripe's own message is about idempotency keys. */
const CARD_REPLACED = 'Nothing was charged: the card was replaced before Stripe answered.';

/**
 * Begins due top-ups and requests their payments from Stripe, one after another. Rejects if Stripe
 * does not respond. The next round then begins with another top-up.
 */
export async function topUpAutomatically(config: StripeConfig, deps: PaymentDeps): Promise<void> {
  const { database, nowMs } = deps;
  const stripe = await stripeClient(config);
  // Otherwise a card that was charged before a restore would be charged again.
  const epoch = await settleForgottenPayments({ ...deps, stripe });
  await beginAutomaticTopUps(database, () => newId('top', nowMs()), epoch);
  for (let taken = 0; taken < MOST_DUE; taken++) {
    const due = await takeDueTopUp(database);
    if (due === undefined) return;
    if (due.ending === undefined) await charge(stripe, config, deps, due);
    else if (!due.wasAsked || !(await settleMadeBefore(stripe, deps, due)))
      await endDueTopUp(database, due, due.ending);
  }
}

async function charge(stripe: StripeClient, config: StripeConfig, deps: PaymentDeps, due: DueTopUp): Promise<void> {
  const { id, organizationId, amountCents, customerId, paymentMethodId } = due;
  const payment = await stripe.paymentIntents
    .create(
      {
        amount: Number(amountCents),
        currency: config.currency,
        customer: customerId,
        payment_method: paymentMethodId,
        off_session: true,
        confirm: true,
        description: 'Automatic top-up',
        metadata: { ...metadataOf(id, organizationId, 'true') },
      },
      // Ensures a single charge, whichever process makes the request and however often.
      { idempotencyKey: id },
    )
    .catch(async (error: unknown) => {
      if (isStripeAway(error) || !isStripeError(error, REFUSALS)) throw error;
      // An earlier request to Stripe had another card, which may have been charged although the
      // response was lost.
      const wasOther = error.type === 'StripeIdempotencyError';
      if (wasOther && (await settleMadeBefore(stripe, deps, due))) return undefined;
      deps.log.warn({ topUpId: id, organizationId, code: error.code }, 'an automatic top-up failed');
      await failDueTopUp(deps.database, due, wasOther ? CARD_REPLACED : refusalText(error.message));
      return undefined;
    });
  // An error of this read is no refusal. The card was charged, and the payment is read again later.
  if (payment !== undefined) await settleFromStripe({ ...deps, stripe }, payment.id);
}

/** Settles the payment of a top-up that was requested before. False: Stripe has made none. */
async function settleMadeBefore(stripe: StripeClient, deps: PaymentDeps, due: DueTopUp): Promise<boolean> {
  const made = await findPayment(stripe, due);
  if (made !== undefined) await settleFromStripe({ ...deps, stripe }, made);
  return made !== undefined;
}

async function findPayment(stripe: StripeClient, { id, customerId }: DueTopUp): Promise<string | undefined> {
  let read = 0;
  try {
    for await (const payment of stripe.paymentIntents.list({ customer: customerId, limit: PAGE })) {
      if (payment.metadata?.gateway_top_up === id) return payment.id;
      if (++read === MOST_PAYMENTS) break;
    }
  } catch (error) {
    // The customer was deleted, or the key now belongs to another account.
    if (!isMissingAtStripe(error)) throw error;
  }
  return undefined;
}
