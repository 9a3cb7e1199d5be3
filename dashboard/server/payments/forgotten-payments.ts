import type { Stripe } from 'stripe';
import { type UtcDay, utcDay } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import { databaseClock } from '#database/connection/database-clock.ts';
import { currentEpoch, unbookedReversals, unsettledPayments } from '#database/payments/forgotten-payments.ts';
import type { Database } from '../fairness/stores.ts';
import { detachUnusedCards, idOf } from './follow-session.ts';
import { isDisputeTaken, isRefundTaken } from './read-payment.ts';
import { type PaymentDeps, reportMissedEvent, type StripeDeps, settleFromStripe } from './settle.ts';

/** A restored backup is younger than this, and Stripe keeps events for the same time. */
const LOOKS_BACK_SECONDS = 30 * 86_400;
/** A dispute may be decided this long after it began. */
const DISPUTES_LAST_SECONDS = 90 * 86_400;
const PAGE = 100;
/** Bound for each kind of object. The newest are read. */
const MOST_OBJECTS = 100_000;
/** The money has arrived or is on its way. */
const MADE: readonly Stripe.PaymentIntent.Status[] = ['succeeded', 'processing'];

/** Ledger epoch and day of the last comparison of this process. */
const lookedIn = new WeakMap<Database, { readonly epoch: string; readonly day: UtcDay }>();

/**
 * Settles payments that Stripe has but the database does not: once after the start of the process,
 * and again in each new ledger epoch, because the database may have gone back in time. Refunds and
 * disputes are compared every day, because nothing else reads them if Stripe's events do not
 * arrive. Cards that Stripe did not detach are tried again then. Rejects if Stripe does not
 * respond; payments that were settled until then stay. Returns the epoch.
 */
export async function settleForgottenPayments(deps: PaymentDeps & StripeDeps): Promise<string> {
  const { stripe, database, nowMs, log } = deps;
  const epoch = await currentEpoch(database);
  const day = utcDay(nowMs());
  const last = lookedIn.get(database);
  const isSameEpoch = last?.epoch === epoch;
  if (isSameEpoch && last.day === day) return epoch;
  const untilMs = Math.min(nowMs(), await databaseClock(database));
  const since = { created: { gte: Math.floor(untilMs / 1000) - LOOKS_BACK_SECONDS }, limit: PAGE };
  const settle = async (ids: Iterable<string>) => {
    for (const id of new Set(ids)) {
      const entries = await settleFromStripe(deps, id);
      // Otherwise the database went back in time, or this process did not run.
      if (isSameEpoch && entries > 0) await reportMissedEvent(deps, id);
    }
  };
  const settlePayments = async (payments: readonly Stripe.PaymentIntent[]) => {
    const ours = payments.filter(({ status, metadata }) => MADE.includes(status) && metadata?.gateway_top_up);
    const named = ours.map(({ id, metadata }) => ({ id, organizationId: metadata?.gateway_organization ?? '' }));
    await settle(await unsettledPayments(database, named));
  };
  if (!isSameEpoch) await inPages(stripe.paymentIntents.list(since), log, settlePayments);
  const settleReversals = async (named: Parameters<typeof unbookedReversals>[1]) =>
    settle(await unbookedReversals(database, named));
  await inPages(stripe.refunds.list(since), log, (refunds) =>
    settleReversals(refunds.map((refund) => ({ ...reversed(refund), isTaken: isRefundTaken(refund) }))),
  );
  const sinceDisputes = { ...since, created: { gte: since.created.gte - DISPUTES_LAST_SECONDS } };
  await inPages(stripe.disputes.list(sinceDisputes), log, (disputes) =>
    settleReversals(disputes.map((dispute) => ({ ...reversed(dispute), isTaken: isDisputeTaken(dispute) }))),
  );
  await detachUnusedCards(deps);
  lookedIn.set(database, { epoch, day });
  return epoch;
}

function reversed({ id, payment_intent: of }: Stripe.Refund | Stripe.Dispute) {
  return { id, paymentIntentId: idOf(of) ?? '' };
}

async function inPages<T>(list: AsyncIterable<T>, log: Log, work: (page: readonly T[]) => Promise<void>) {
  let page: T[] = [];
  let read = 0;
  for await (const one of list) {
    if (read++ === MOST_OBJECTS) {
      log.error({ read: MOST_OBJECTS }, 'Stripe has more of the last days than were compared with the database');
      break;
    }
    page.push(one);
    if (page.length < PAGE) continue;
    await work(page);
    page = [];
  }
  await work(page);
}
