import type pg from 'pg';
import type { TopUpView } from '#contract/top-ups.ts';
import { idMoment } from '#core/ids.ts';
import { nameForMembers } from '../audit/audit.ts';
import { records, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';

export interface NewTopUp {
  readonly id: string;
  readonly organizationId: string;
  readonly amountCents: bigint;
  /** Id of the user who pays. */
  readonly createdBy: string;
}

/** A top-up as described by a payment at Stripe. */
export interface DescribedTopUp {
  readonly id: string;
  readonly organizationId: string;
  /** Absent: no dashboard began the payment. */
  readonly automatic?: boolean;
  readonly amountCents: bigint;
  readonly paymentIntentId: string;
}

export interface TopUpRecord extends Omit<TopUpView, 'amountNanoUsd' | 'returnedNanoUsd' | 'hasInvoice'> {
  readonly amountCents: bigint;
  /** Amount that refunds and disputes returned. */
  readonly returnedCents: bigint;
}

const INSERT = sql('insert_top_up')`
  insert into top_ups (id, organization_id, automatic, amount_cents, created_by) values ($1, $2, false, $3, $4)`;
/**
 * Inserts a top-up with its payment, so that no round asks Stripe for another payment. Its time of
 * creation is taken from its id. Amounts outside the range cannot be from this gateway.
 */
const KEEP_FORGOTTEN = sql('keep_forgotten_top_up')`
  insert into top_ups (id, organization_id, automatic, amount_cents, payment_intent_id, created_at, state)
    select $1, o.id, $3, $4::bigint, $5, least(now(), to_timestamp($6::double precision / 1000)), $7
    from organizations o where o.id = $2 and $4::bigint between 1 and 99999900
    on conflict do nothing`;
const BIND = sql('bind_session')`update top_ups set session_id = $2 where id = $1`;
const FAIL = sql('fail_top_up')`update top_ups set state = 'failed', failure = $2 where id = $1 and state = 'open'`;
const EXPIRE = sql('expire_top_up')`update top_ups set state = 'expired' where session_id = $1 and state = 'open'`;
const STATE = sql('state_of_top_up')`select state from top_ups where organization_id = $1 and id = $2`;
const SESSION = sql('session_of_top_up')`
  select session_id from top_ups where organization_id = $1 and id = $2 and state = 'paid'`;
const LIST = sql('list_top_ups')`
  select t.id, t.automatic, t.amount_cents as "amountCents", t.state, t.failure, t.receipt_url as "receiptUrl",
      ${nameForMembers('u', 't.organization_id')} as "createdBy", ${milliseconds('t.created_at')} as "createdAtMs",
      coalesce((select sum(r.amount_cents) from top_up_reversals r where r.top_up_id = t.id), 0) as "returnedCents"
    from top_ups t left join users u on u.id = t.created_by
    where t.organization_id = $1 and ($2::text is null or t.id < $2) order by t.id desc limit $3`;

export async function createTopUp(pool: pg.Pool, { id, organizationId, amountCents, createdBy }: NewTopUp) {
  await run(pool, INSERT, [id, organizationId, amountCents, createdBy]);
}

/** Stores a top-up known only to Stripe, unless it exists or belongs to another database. */
export async function keepForgottenTopUp(pool: pg.Pool, topUp: DescribedTopUp): Promise<void> {
  const { id, organizationId, automatic, amountCents, paymentIntentId } = topUp;
  if (automatic === undefined) return;
  // Only one automatic top-up may be open, and another may have begun. Then this one is stored as
  // expired, to which the state of the payment is applied as well.
  for (const state of ['open', 'expired'])
    await run(pool, KEEP_FORGOTTEN, [id, organizationId, automatic, amountCents, paymentIntentId, idMoment(id), state]);
}

export async function bindSession(pool: pg.Pool, id: string, sessionId: string): Promise<void> {
  await run(pool, BIND, [id, sessionId]);
}

/** Ends a top-up for which Stripe created no payment. */
export async function failTopUp(pool: pg.Pool, id: string, reason: string): Promise<void> {
  await run(pool, FAIL, [id, reason]);
}

/** Ends the top-up of a Checkout session that expired unpaid. */
export async function expireSession(pool: pg.Pool, sessionId: string): Promise<void> {
  await run(pool, EXPIRE, [sessionId]);
}

export async function stateOfTopUp(
  pool: pg.Pool,
  organizationId: string,
  topUpId: string,
): Promise<TopUpView['state'] | undefined> {
  return (await run<{ state: TopUpView['state'] }>(pool, STATE, [organizationId, topUpId]))[0]?.state;
}

/** Checkout session of a paid top-up. `undefined`: it has none, like an automatic one. */
export async function paidSession(pool: pg.Pool, organizationId: string, topUpId: string): Promise<string | undefined> {
  const [row] = await run<{ session_id: string | null }>(pool, SESSION, [organizationId, topUpId]);
  return row?.session_id ?? undefined;
}

/** Newest first. */
export async function listTopUps(
  pool: pg.Pool,
  {
    organizationId,
    before,
    limit,
  }: { readonly organizationId: string; readonly before?: string; readonly limit: number },
): Promise<readonly TopUpRecord[]> {
  return records<TopUpRecord>(pool, LIST, [organizationId, before ?? null, limit], ['amountCents', 'returnedCents']);
}
