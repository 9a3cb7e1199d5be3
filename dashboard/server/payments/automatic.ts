import type { StripeConfig } from '../../../core/config/dashboard-config.ts';
import { newId } from '../../../core/ids.ts';
import type { Log } from '../../../core/log/log.ts';
import {
  beginAutomaticTopUps,
  type DueTopUp,
  failAutomaticTopUp,
  giveUpTopUps,
  takeDueTopUp,
} from '../../../database/payments/automatic-top-ups.ts';
import type { Database } from '../turns/stores.ts';
import { metadataOf } from './checkout.ts';
import { refusalText } from './read-payment.ts';
import { settleFromStripe } from './settle.ts';
import { isStripeAway, isStripeError, type StripeClient, stripeClient } from './stripe-client.ts';

export interface AutomaticDeps {
  readonly database: Database;
  readonly nowMs: () => number;
  readonly log: Log;
}

/** Errors by which this card or this payment is refused, and not the key of the operator. */
const REFUSALS = ['StripeCardError', 'StripeInvalidRequestError', 'StripeIdempotencyError'] as const;

/** Charges of one round. */
const MOST_CHARGES = 20;

/**
 * Begins what is due, and asks Stripe for it, one after the other. Rejects at the first that Stripe
 * does not answer; the next round begins with another one.
 */
export async function topUpAutomatically(config: StripeConfig, deps: AutomaticDeps): Promise<void> {
  const { database, nowMs } = deps;
  const stripe = await stripeClient(config);
  await beginAutomaticTopUps(database, () => newId('top', nowMs()));
  await giveUpTopUps(database);
  for (let charges = 0; charges < MOST_CHARGES; charges++) {
    const due = await takeDueTopUp(database);
    if (due === undefined) return;
    await charge(stripe, config, deps, due);
  }
}

async function charge(stripe: StripeClient, config: StripeConfig, deps: AutomaticDeps, due: DueTopUp): Promise<void> {
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
      // One charge, whatever process asks, and however often.
      { idempotencyKey: id },
    )
    .catch(async (error: unknown) => {
      if (isStripeAway(error) || !isStripeError(error, REFUSALS)) throw error;
      deps.log.warn({ topUpId: id, organizationId, code: error.code }, 'an automatic top-up failed');
      await failAutomaticTopUp(deps.database, id, refusalText(error.message));
    });
  // An error of this read is no refusal: the card was charged, and the payment is read again.
  if (payment !== undefined) await settleFromStripe({ ...deps, stripe }, payment.id);
}
