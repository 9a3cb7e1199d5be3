import type pg from 'pg';
import { only, run, sql } from '../connection/connection-pool.ts';

/** Compares the payments at Stripe with those that the database knows. */

/** Notes a changed epoch even on a connection that was open while tables were replaced. */
const NOTE = sql('note_timeline')`select note_timeline()`;
const EPOCH = sql('epoch_of_payments')`select epoch from ledger_state`;
const UNSETTLED = sql('unsettled_payments')`
  select p.id from unnest($1::text[], $2::text[]) p (id, organization_id)
    join organizations o on o.id = p.organization_id
    where not exists (select from top_ups t where t.payment_intent_id = p.id and t.state = 'paid')
      and not exists (select from top_ups t where t.refused_payment_id = p.id)`;
/**
 * Refunds and disputes that are not booked as Stripe has them now: they are missing, or their
 * amount was returned since. Those of unknown payments are booked with their payment, and those of
 * a refused one only if an operator booked it, so that it is the reference of a credit.
 */
const UNBOOKED = sql('unbooked_reversals')`
  select p.payment_intent_id as id from unnest($1::text[], $2::text[], $3::boolean[]) p (id, payment_intent_id, is_taken)
    where (exists (select from top_ups t where t.payment_intent_id = p.payment_intent_id
          and (t.state, t.refused_payment_id) is distinct from ('refused', p.payment_intent_id))
        or exists (select from credit_references c where c.reference = p.payment_intent_id))
      and p.is_taken <> exists (select from top_up_reversals r where r.id = p.id and r.amount_cents > 0)`;
const NOTE_MISSED = sql('note_missed_event')`
  update top_ups set event_missed_at = now() where id = $1 or payment_intent_id = $1 or refused_payment_id = $1`;
const END_MISSED = sql('end_missed_event')`
  update top_ups set event_missed_at = null
    where event_missed_at is not null and (session_id = $1 or payment_intent_id = $1 or refused_payment_id = $1)`;

interface Named {
  readonly id: string;
}

export async function currentEpoch(pool: pg.Pool): Promise<string> {
  await run(pool, NOTE, []);
  return (await only<{ epoch: string }>(pool, EPOCH, [])).epoch;
}

/** Returns payments for organizations of this database that are not settled here. */
export async function unsettledPayments(
  pool: pg.Pool,
  payments: readonly { readonly id: string; readonly organizationId: string }[],
): Promise<readonly string[]> {
  const values = [payments.map(({ id }) => id), payments.map(({ organizationId }) => organizationId)];
  return payments.length === 0 ? [] : (await run<Named>(pool, UNSETTLED, values)).map(({ id }) => id);
}

/** Returns payments with a refund or dispute that is not booked as Stripe has it. */
export async function unbookedReversals(
  pool: pg.Pool,
  reversals: readonly { readonly id: string; readonly paymentIntentId: string; readonly isTaken: boolean }[],
): Promise<readonly string[]> {
  const values = [
    reversals.map(({ id }) => id),
    reversals.map(({ paymentIntentId }) => paymentIntentId),
    reversals.map(({ isTaken }) => isTaken),
  ];
  return reversals.length === 0 ? [] : (await run<Named>(pool, UNBOOKED, values)).map(({ id }) => id);
}

/** Notes a top-up, or a payment, about which Stripe sent no event yet. */
export async function noteMissedEvent(pool: pg.Pool, id: string): Promise<void> {
  await run(pool, NOTE_MISSED, [id]);
}

/** Ends the note: an event about the session or the payment came, perhaps late. */
export async function endMissedEvent(pool: pg.Pool, id: string): Promise<void> {
  await run(pool, END_MISSED, [id]);
}
