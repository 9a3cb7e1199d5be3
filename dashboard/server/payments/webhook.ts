import type { Stripe } from 'stripe';
import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { isObject } from '#core/json-object.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { endMissedEvent } from '#database/payments/forgotten-payments.ts';
import { followSession, idOf } from './follow-session.ts';
import { type PaymentDeps, settleFromStripe } from './settle.ts';
import { isMissingAtStripe, isStripeAway, isStripeError, type StripeClient, stripeClient } from './stripe-client.ts';

/** Far above the size of any event about a payment. */
export const MAX_EVENT_BYTES = 256 * 1024;
/** As recommended by Stripe. Later, a recorded event is refused. */
const TOLERANCE_SECONDS = 300;

export type WebhookAnswer = 'received' | 'forged' | 'later';

/**
 * Handles an event. `body` must have the exact bytes that were sent. An event only names the
 * payment to read; what is booked is read from Stripe.
 */
export async function takeStripeEvent(
  config: StripeConfig,
  deps: PaymentDeps,
  body: Buffer,
  signature: string,
): Promise<WebhookAnswer> {
  const { log } = deps;
  const stripe = await stripeClient(config);
  const event = verified(stripe, config, deps, body, signature);
  if (event === undefined) return 'forged';
  try {
    await follow(stripe, deps, event);
    return 'received';
  } catch (error) {
    const about = { event: event.id, type: event.type, error: (error as Error).message };
    if (isMissingAtStripe(error)) {
      log.error(about, 'Stripe does not know the object of its event: is the secret key of the same account?');
      return 'received';
    }
    // Stripe may be away, or refuse the secret key until the operator mends it.
    if (!isStripeError(error) && !(error instanceof StoreUnavailable)) throw error;
    log[isStripeError(error) && !isStripeAway(error) ? 'error' : 'warn'](about, 'an event of Stripe must wait');
    return 'later';
  }
}

function verified(
  stripe: StripeClient,
  { webhookSecret }: StripeConfig,
  { nowMs }: PaymentDeps,
  body: Buffer,
  signature: string,
): Stripe.Event | undefined {
  try {
    return stripe.webhooks.constructEvent(body, signature, webhookSecret, TOLERANCE_SECONDS, undefined, nowMs());
  } catch {
    return undefined;
  }
}

/** The signature only proves the sender of an event, not its form. */
async function follow(stripe: StripeClient, deps: PaymentDeps, event: unknown): Promise<void> {
  const { type, data } = isObject(event) ? event : {};
  if (typeof type !== 'string') return;
  const object = isObject(data) && isObject(data.object) ? data.object : {};
  const isOfSession = type.startsWith('checkout.session.');
  const isOfPayment = type.startsWith('payment_intent.');
  if (!isOfSession && !isOfPayment && !/^(charge|refund)\./.test(type)) return;
  const id = idOf(isOfSession || isOfPayment ? object.id : object.payment_intent);
  if (id === undefined) return;
  await (isOfSession ? followSession : settleFromStripe)({ ...deps, stripe }, id);
  await endMissedEvent(deps.database, id);
}
