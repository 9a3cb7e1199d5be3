import type { Stripe } from 'stripe';
import { saveCard } from '#database/payments/payment-accounts.ts';
import { expireSession } from '#database/payments/top-ups.ts';
import { forgetUnusedCard, listUnusedCards } from '#database/payments/unused-cards.ts';
import { type StripeDeps, settleFromStripe } from './settle.ts';
import { isStripeError } from './stripe-client.ts';

const ID = /^[A-Za-z0-9_]{1,180}$/;
const ONCE = { maxNetworkRetries: 0 };

/** Returns the number of entries of the ledger that were made. */
export async function followSession(deps: StripeDeps, id: string): Promise<number> {
  const { stripe, database } = deps;
  const session = await stripe.checkout.sessions.retrieve(id, { expand: ['setup_intent.payment_method'] });
  if (session.mode === 'setup') await keepCard(deps, session);
  const paid = idOf(session.payment_intent);
  const entries = paid === undefined ? 0 : await settleFromStripe(deps, paid, session.status === 'complete');
  if (session.status === 'expired') await expireSession(database, id);
  return entries;
}

async function keepCard(deps: StripeDeps, { customer, setup_intent: setup }: Stripe.Checkout.Session): Promise<void> {
  if (typeof setup !== 'object' || setup === null || setup.status !== 'succeeded') return;
  const { payment_method: method } = setup;
  const customerId = idOf(customer);
  if (customerId === undefined || typeof method !== 'object' || method === null) return;
  // Detached before: nothing can charge it, and it cannot be detached again.
  if (method.customer === null) return;
  const card = method.card ? `${method.card.brand} ${method.card.last4}` : method.type;
  const organizationId = await saveCard(deps.database, {
    customerId,
    paymentMethodId: method.id,
    card: card.slice(0, 100),
    // Stripe creates it when the form is sent, and the setup intent when the page is opened.
    savedAtMs: (method.created ?? setup.created) * 1000,
  });
  if (organizationId !== undefined) await detachUnusedCards(deps, organizationId);
}

/**
 * Detaches cards that are no longer used, so that nothing can charge them, not even a backup of the
 * database that still has them. The key may lack the right, and Stripe may not respond: then the
 * daily comparison tries again. Absent organization: cards of all.
 */
export async function detachUnusedCards({ stripe, database, log }: StripeDeps, organizationId?: string): Promise<void> {
  for (const card of await listUnusedCards(database, organizationId)) {
    try {
      const { customer } = await stripe.paymentMethods.retrieve(card.paymentMethodId, {}, ONCE);
      // Stripe refuses to detach one that is not attached.
      if (customer !== null) await stripe.paymentMethods.detach(card.paymentMethodId, {}, ONCE);
      await forgetUnusedCard(database, card);
    } catch (error) {
      if (!isStripeError(error)) throw error;
      log.warn({ err: error, ...card }, 'a former card could not be detached at Stripe');
      // Any other error would be the same for all cards.
      if (!isStripeError(error, ['StripeInvalidRequestError', 'StripeAPIError'])) return;
    }
  }
}

/** The id of an object, whether or not it is expanded. */
export function idOf(value: unknown): string | undefined {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value;
  return typeof id === 'string' && ID.test(id) ? id : undefined;
}
