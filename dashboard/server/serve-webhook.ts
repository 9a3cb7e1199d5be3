import type { Log } from '#core/log/log.ts';
import { databaseInTurn } from './fairness/database-in-turn.ts';
import { type BodyBounds, readBody, refuseBody } from './http/bodies.ts';
import { isProblem, notFound, problem, unavailable } from './http/problem.ts';
import { type AppContext, sendProblem } from './http/responses.ts';
import type { Deps } from './http/route.ts';
import { takeStripeEvent, type WebhookAnswer } from './payments/webhook.ts';

/** Handles Stripe's events, proved by signature. At the database they take turns like one user. */
export async function serveStripeWebhook(
  context: AppContext,
  bodies: BodyBounds,
  deps: Deps,
  log: Log,
): Promise<Response> {
  const { stripe } = deps.settings();
  if (stripe === undefined) return sendProblem(context, notFound('route'));
  const signature = context.req.header('stripe-signature');
  if (signature === undefined) return sendProblem(context, refuseBody(context, bodies, FORGED));
  const body = await readBody(context, bodies);
  if (isProblem(body)) return sendProblem(context, body);
  const database = databaseInTurn(deps, { userId: 'stripe' });
  return respond(context, await takeStripeEvent(stripe, { database, nowMs: deps.nowMs, log }, body, signature));
}

function respond(context: AppContext, answer: WebhookAnswer): Response {
  if (answer === 'forged') return sendProblem(context, FORGED);
  if (answer === 'later') return sendProblem(context, unavailable('The event cannot be followed now.'));
  return context.json({ received: true });
}

const FORGED = problem(
  'invalid',
  "The signature does not match, or is over five minutes old by the dashboard's clock.",
);
