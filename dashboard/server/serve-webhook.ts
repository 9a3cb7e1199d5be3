import type { Log } from '../../core/log/log.ts';
import { notFound, problem, unavailable } from './http/problem.ts';
import { type AppContext, sendProblem } from './http/responses.ts';
import type { Deps } from './http/route.ts';
import { takeStripeEvent, type WebhookAnswer } from './payments/webhook.ts';
import { storesInTurn } from './turns/stores-in-turn.ts';

/** Stripe sends again what was not answered with 2xx, for three days. */
const MOST_AT_ONCE = 32;

let atOnce = 0;

/**
 * Takes events of Stripe. They have no session: their signature is the proof. They take turns at
 * the database as one user.
 */
export async function serveStripeWebhook(context: AppContext, deps: Deps, log: Log): Promise<Response> {
  const { stripe } = deps.settings();
  if (stripe === undefined) return sendProblem(context, notFound('route'));
  const body = Buffer.from(await context.req.arrayBuffer());
  if (atOnce >= MOST_AT_ONCE) return sendProblem(context, unavailable('Too many events at once.'));
  atOnce++;
  try {
    const { database } = storesInTurn(deps, { userId: 'stripe' });
    const signature = context.req.header('stripe-signature') ?? '';
    return respond(context, await takeStripeEvent(stripe, { database, nowMs: deps.nowMs, log }, body, signature));
  } finally {
    atOnce--;
  }
}

function respond(context: AppContext, answer: WebhookAnswer): Response {
  if (answer === 'forged') return sendProblem(context, problem('invalid', 'The signature does not match.'));
  if (answer === 'later') return sendProblem(context, unavailable('The event cannot be followed now.'));
  return context.json({ received: true });
}
