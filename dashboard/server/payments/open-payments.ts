import type { StripeConfig } from '#core/config/dashboard-config.ts';
import {
  endMissingTopUp,
  endUnboundTopUps,
  type OpenTopUp,
  takeOneOpenTopUp,
  takeOpenTopUp,
} from '#database/payments/open-top-ups.ts';
import { followSession } from './follow-session.ts';
import { type PaymentDeps, reportMissedEvent, settleFromStripe } from './settle.ts';
import { isMissingAtStripe, isStripeError, stripeClient } from './stripe-client.ts';

type OpenDeps = Pick<PaymentDeps, 'database' | 'log'>;

/** Reads of one round. */
const MOST_READS = 20;

/**
 * Reads open payments from Stripe without waiting for events. The operator may have configured no
 * webhook, and Stripe stops repeating events after three days. Reads those that are due, one after
 * another. Rejects as soon as Stripe does not respond.
 */
export async function readOpenPayments(config: StripeConfig, deps: OpenDeps): Promise<void> {
  await endUnboundTopUps(deps.database);
  for (let reads = 0; reads < MOST_READS; reads++) {
    const open = await takeOpenTopUp(deps.database);
    if (open === undefined) return;
    if ((await read(config, deps, open)) > 0) await reportMissedEvent(deps, open.id);
  }
}

/**
 * Reads the payment of a user who returns from paying. It is no error if Stripe is unavailable or
 * refuses the request.
 */
export async function checkTopUp(
  config: StripeConfig,
  deps: OpenDeps,
  organizationId: string,
  topUpId: string,
): Promise<void> {
  const open = await takeOneOpenTopUp(deps.database, organizationId, topUpId);
  if (open === undefined) return;
  await read(config, deps, open).catch((error: unknown) => {
    if (!isStripeError(error)) throw error;
    deps.log.warn({ topUpId, err: error }, 'a payment could not be read from Stripe');
  });
}

async function read(config: StripeConfig, { database, log }: OpenDeps, open: OpenTopUp): Promise<number> {
  const deps = { stripe: await stripeClient(config), database, log };
  const { sessionId, paymentIntentId } = open;
  try {
    if (sessionId !== undefined) return await followSession(deps, sessionId);
    return paymentIntentId === undefined ? 0 : await settleFromStripe(deps, paymentIntentId);
  } catch (error) {
    // The key may belong to another account by now.
    if (!isMissingAtStripe(error)) throw error;
    const ended = await endMissingTopUp(database, open.id);
    log.warn({ topUpId: open.id, ended }, 'Stripe does not know the payment of an open top-up: look at it there');
    return 0;
  }
}
