import type pg from 'pg';
import { inTransaction, records, run, sql } from '../connection/connection-pool.ts';
import { failing, failTopUps } from './failing-top-ups.ts';

/**
 * An automatic top-up that is due: either Stripe is to be asked for the payment, with the same id
 * until it responds, or the top-up is to end.
 */
export interface DueTopUp {
  readonly id: string;
  readonly organizationId: string;
  readonly amountCents: bigint;
  readonly customerId: string;
  readonly paymentMethodId: string;
  /** True if Stripe was asked before. It may have made a payment whose response was lost. */
  readonly wasAsked: boolean;
  /** Present: the card must not be charged any more, for this reason. */
  readonly ending?: string;
  /** Lease of this process on the top-up. It ends when another process takes it. */
  readonly lease: string;
}

/** True if the card of `payment_accounts p` may be charged. */
const MAY_CHARGE = `p.automatic and p.stopped_at is null and p.payment_method_id is not null
      and not exists (select from organizations o where o.id = p.organization_id and o.suspended_at is not null)`;
/** Undecided dead letters count, because requests cannot spend what they owe. */
const IS_BELOW = 'a.balance_nano_usd - a.dead_letters_nano_usd < p.below_nano_usd';
/**
 * True if the payment fits the daily cap. Sessions use UTC. A top-up counts on the day on which
 * Stripe was asked to charge it, which may be later than its creation and earlier than its payment.
 */
const WITHIN_DAY = `p.amount_cents + coalesce((
        select sum(t.amount_cents) from top_ups t
        where t.organization_id = p.organization_id and t.automatic and t.state in ('open', 'paid')
          and coalesce(t.asked_at, t.created_at) >= date_trunc('day', now())
      ), 0) <= p.daily_cents`;
/**
 * Organizations that may need a top-up. Each is checked again under its lock. Those that reached
 * their daily cap are excluded, because they could fill the limit.
 */
const CANDIDATES = sql('automatic_top_up_candidates')`
  select p.organization_id from payment_accounts p join accounts a on a.organization_id = p.organization_id
    where ${MAY_CHARGE} and ${IS_BELOW} and ${WITHIN_DAY}
      and not exists (select from top_ups t where t.organization_id = p.organization_id and t.automatic and t.state = 'open')
    limit 100`;
/** Skips an organization that another process has locked. */
const LOCK = sql('lock_automatic_top_up')`
  select from payment_accounts where organization_id = $1 for update skip locked`;
/**
 * Runs after the lock, so that it sees everything that was committed before. A top-up begins only
 * in the ledger epoch in which payments were compared with Stripe's.
 */
const BEGIN = sql('begin_automatic_top_up')`
  insert into top_ups (id, organization_id, automatic, amount_cents)
    select $2, p.organization_id, true, p.amount_cents from payment_accounts p
    join accounts a on a.organization_id = p.organization_id
    where p.organization_id = $1 and ($3::uuid is null or $3 = (select epoch from ledger_state)) and ${MAY_CHARGE} and ${IS_BELOW} and ${WITHIN_DAY}
    on conflict do nothing returning id`;
/** Stripe keeps idempotency keys for at least a day. A later attempt could charge twice. */
const TOO_LATE = "interval '23 hours'";
const NO_ANSWER = 'Stripe did not answer for a day.';
/** The reason, shown to people, why the card must not be charged any more. Null: it may be. */
const ENDING = `case
        when p.payment_method_id is null then 'The card was removed.'
        when not p.automatic then 'Automatic top-up was turned off.'
        when p.stopped_at is not null then 'Automatic top-up stopped before the card was charged.'
        when not (${MAY_CHARGE}) then 'The organization was suspended.'
        when t.created_at > now() - ${TOO_LATE} then null
        when t.asked_at > t.created_at + interval '22 hours' then '${NO_ANSWER}'
        else 'The card was not charged within a day.' end`;
/**
 * Takes a top-up for which no process asked Stripe within the last minute. `ending` reflects what
 * has happened since it began, such as a person's change or a dispute. New top-ups come first, then
 * the one that has waited longest, so errors of Stripe for some delay no others.
 */
const TAKE = sql('take_automatic_top_up')`
  with due as (
      select t.id, t.asked_at is not null as was_asked, ${ENDING} as ending, p.customer_id, p.payment_method_id
      from top_ups t join payment_accounts p on p.organization_id = t.organization_id
      where t.automatic and t.state = 'open' and t.payment_intent_id is null
        and (t.asked_at is null or t.asked_at < now() - interval '1 minute')
      order by t.asked_at nulls first, t.id limit 1 for update of t skip locked
    )
    update top_ups t set asked_at = now() from due where t.id = due.id
    returning t.id, t.organization_id as "organizationId", t.amount_cents as "amountCents", due.customer_id as "customerId",
      coalesce(due.payment_method_id, '') as "paymentMethodId", due.was_asked as "wasAsked", due.ending, t.asked_at::text as lease`;
/** Matches nothing if another process has taken the top-up, or if its payment is known by now. */
const HELD = 'id = $2 and payment_intent_id is null and asked_at = $3::timestamptz';
const FAIL = failing('fail_automatic_top_up', HELD);
const END = sql('end_automatic_top_up')`
  update top_ups set state = 'failed', failure = $1 where state = 'open' and ${HELD}`;

/**
 * Begins top-ups of organizations whose balance is below their threshold. `newId` makes their ids.
 * `epoch`: the only ledger epoch in which they may begin. Absent: any.
 */
export async function beginAutomaticTopUps(pool: pg.Pool, newId: () => string, epoch?: string): Promise<void> {
  for (const { organization_id: id } of await run<{ organization_id: string }>(pool, CANDIDATES, [])) {
    await inTransaction(pool, 'begin', async (client) => {
      const locked = await run(client, LOCK, [id]);
      if (locked.length > 0) await run(client, BEGIN, [id, newId(), epoch ?? null]);
    });
  }
}

/** Takes the next due top-up. No other process gets it within a minute. */
export async function takeDueTopUp(pool: pg.Pool): Promise<DueTopUp | undefined> {
  return (await records<DueTopUp>(pool, TAKE, [], ['amountCents']))[0];
}

/** Ends a top-up because Stripe refused to charge the card. No other begins until a person acts. */
export async function failDueTopUp(pool: pg.Pool, { id, lease }: DueTopUp, reason: string): Promise<void> {
  await failTopUps(pool, FAIL, [reason, id, lease]);
}

/**
 * Ends a top-up for which Stripe has no payment. Automatic top-up stops only if Stripe is the
 * reason. For other reasons a person has acted already, or the next top-up begins.
 */
export async function endDueTopUp(pool: pg.Pool, due: DueTopUp, reason: string): Promise<void> {
  if (reason === NO_ANSWER) await failDueTopUp(pool, due, reason);
  else await run(pool, END, [reason, due.id, due.lease]);
}
