import { isIdOf } from '../../../core/id-form.ts';
import type { Log } from '../../../core/log/log.ts';
import { beginRead, settlePayment } from '../../../database/payments/settle-payment.ts';
import type { Database } from '../turns/stores.ts';
import { readPayment, topUpOfPayment } from './read-payment.ts';
import type { StripeClient } from './stripe-client.ts';

/**
 * Brings ledger and top-up to what Stripe says about the payment. Repeating it changes nothing.
 * Rejects if Stripe does not have the payment (`isMissingAtStripe`). `isCheckoutOver`: see
 * `readPayment`.
 */
export async function settleFromStripe(
  { stripe, database, log }: { readonly stripe: StripeClient; readonly database: Database; readonly log: Log },
  paymentIntentId: string,
  isCheckoutOver = false,
): Promise<void> {
  const topUpId = await topUpOfPayment(stripe, paymentIntentId);
  if (topUpId === undefined || !isIdOf('top', topUpId)) return;
  // Before the facts are read: of two reads the one that began later knows more.
  const readNumber = await beginRead(database, topUpId);
  if (readNumber === undefined) return;
  const facts = await readPayment(stripe, paymentIntentId, isCheckoutOver);
  const settled = await settlePayment(database, { ...facts, topUpId }, readNumber);
  const about = { topUpId, paymentIntentId, organizationId: facts.organizationId };
  if (settled.kind === 'refused')
    log.error({ ...about, reason: settled.reason }, 'a payment does not match its top-up');
  else if (settled.kind === 'settled') log.info({ ...about, entries: settled.entries }, 'a payment was settled');
}
