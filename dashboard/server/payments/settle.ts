import type { Log } from '#core/log/log.ts';
import { noteMissedEvent } from '#database/payments/forgotten-payments.ts';
import { beginRead, settlePayment } from '#database/payments/settle-payment.ts';
import { keepForgottenTopUp } from '#database/payments/top-ups.ts';
import type { Database } from '../fairness/stores.ts';
import { readPayment, topUpOfPayment } from './read-payment.ts';
import type { StripeClient } from './stripe-client.ts';

export interface PaymentDeps {
  readonly database: Database;
  readonly nowMs: () => number;
  readonly log: Log;
}

/** Dependencies with the Stripe client of the current configuration. */
export interface StripeDeps extends Pick<PaymentDeps, 'database' | 'log'> {
  readonly stripe: StripeClient;
}

/**
 * Updates ledger and top-up to what Stripe has about the payment. Repeating it changes nothing. If
 * the database lacks the top-up, as after a restore, it is created from the payment's description.
 * Rejects if Stripe does not have the payment (`isMissingAtStripe`). `isCheckoutOver`: see
 * `readPayment`. Returns the number of entries that were made.
 */
export async function settleFromStripe(
  { stripe, database, log }: StripeDeps,
  paymentIntentId: string,
  isCheckoutOver = false,
): Promise<number> {
  const topUp = await topUpOfPayment(stripe, paymentIntentId);
  if (topUp === undefined) return 0;
  const { id: topUpId, organizationId } = topUp;
  const about = { topUpId, paymentIntentId, organizationId };
  // Numbered before the facts are read: of two reads, the one that began later has newer facts.
  let readNumber = await beginRead(database, topUpId);
  if (readNumber === undefined) {
    await keepForgottenTopUp(database, topUp);
    readNumber = await beginRead(database, topUpId);
    if (readNumber === undefined) {
      log.warn(about, 'a payment at Stripe is of another database or program: nobody is credited for it here');
      return 0;
    }
    log.warn(about, 'a payment at Stripe is for a top-up that the database had forgotten');
  }
  const facts = await readPayment(stripe, paymentIntentId, isCheckoutOver);
  const settled = await settlePayment(database, { ...facts, topUpId }, readNumber);
  if (settled.kind === 'refused')
    log.error({ ...about, reason: settled.reason }, 'a payment does not match its top-up');
  else if (settled.kind === 'settled') log.info({ ...about, entries: settled.entries }, 'a payment was settled');
  return 'entries' in settled ? settled.entries : 0;
}

/** Reports that a read of the top-up, or of the payment, found what no event of Stripe had told. */
export async function reportMissedEvent(
  { database, log }: Pick<StripeDeps, 'database' | 'log'>,
  id: string,
): Promise<void> {
  log.warn(
    { id },
    'a payment was read before Stripe sent an event: if usual, check the endpoint at Stripe (docs/operating.md)',
  );
  await noteMissedEvent(database, id);
}
