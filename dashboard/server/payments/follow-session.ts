import type { Stripe } from 'stripe';
import { saveCard } from '#database/payments/payment-accounts.ts';
import { expireSession } from '#database/payments/top-ups.ts';
import type { Database } from '../fairness/stores.ts';
import { type StripeDeps, settleFromStripe } from './settle.ts';

const ID = /^[A-Za-z0-9_]{1,180}$/;

export async function followSession(deps: StripeDeps, id: string): Promise<void> {
  const { stripe, database } = deps;
  const session = await stripe.checkout.sessions.retrieve(id, { expand: ['setup_intent.payment_method'] });
  if (session.mode === 'setup') return keepCard(database, session);
  const paymentIntentId = idOf(session.payment_intent);
  if (paymentIntentId !== undefined) await settleFromStripe(deps, paymentIntentId, session.status === 'complete');
  if (session.status === 'expired') await expireSession(database, id);
}

async function keepCard(database: Database, { customer, setup_intent: setup }: Stripe.Checkout.Session): Promise<void> {
  if (typeof setup !== 'object' || setup === null || setup.status !== 'succeeded') return;
  const { payment_method: method } = setup;
  const customerId = idOf(customer);
  if (customerId === undefined || typeof method !== 'object' || method === null) return;
  const card = method.card ? `${method.card.brand} ${method.card.last4}` : method.type;
  await saveCard(database, {
    customerId,
    paymentMethodId: method.id,
    card: card.slice(0, 100),
    // Made when the page is sent; the setup intent, when it is opened.
    savedAtMs: method.created * 1000,
  });
}

/** The id of an object, whether or not it is expanded. */
export function idOf(value: unknown): string | undefined {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value;
  return typeof id === 'string' && ID.test(id) ? id : undefined;
}
