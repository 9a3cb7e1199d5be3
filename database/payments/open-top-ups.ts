import type pg from 'pg';
import { records, run, sql } from '../connection/connection-pool.ts';
import { failing, failTopUps } from './failing-top-ups.ts';

/** A top-up to read from Stripe, by its session or, if it has none, by its payment. */
export interface OpenTopUp {
  readonly id: string;
  readonly organizationId: string;
  readonly sessionId?: string;
  readonly paymentIntentId?: string;
}

/**
 * Takes the next open top-up. The wait doubles with each read, from a minute to six hours. After a
 * month even a bank transfer has ended.
 */
const TAKE = sql('take_open_top_up')`
  update top_ups set looked_at = now() where id = (
      select id from top_ups
      where state = 'open' and (session_id is not null or payment_intent_id is not null)
        and created_at between now() - interval '30 days' and now() - interval '1 minute'
        and (looked_at is null
          or now() >= looked_at + least(greatest(looked_at - created_at, interval '1 minute'), interval '6 hours'))
      order by looked_at nulls first, id limit 1 for update skip locked)
    returning id, organization_id as "organizationId", session_id as "sessionId", payment_intent_id as "paymentIntentId"`;
/** Takes one top-up for a user who returns from paying, at most every five seconds. */
const TAKE_ONE = sql('take_one_open_top_up')`
  update top_ups set looked_at = now()
    where id = $1 and organization_id = $2 and state = 'open' and (session_id is not null or payment_intent_id is not null)
      and (looked_at is null or looked_at < now() - interval '5 seconds')
    returning id, organization_id as "organizationId", session_id as "sessionId", payment_intent_id as "paymentIntentId"`;
/** Ends top-ups whose process ended before it had a session. Nobody was sent to pay them. */
const END_UNBOUND = sql('end_unbound_top_ups')`
  update top_ups set state = 'expired'
    where state = 'open' and not automatic and session_id is null and payment_intent_id is null
      and created_at < now() - interval '1 day'`;
/** Spares top-ups of the last hour, so that a wrong API key that is corrected by then ends none. */
const END_MISSING = failing('end_missing_top_up', "id = $2 and created_at < now() - interval '1 hour'");
const MISSING = 'Stripe does not know this payment. If it was paid, ask your operator.';

/** Takes the next top-up that is due. No other process gets it meanwhile. */
export async function takeOpenTopUp(pool: pg.Pool): Promise<OpenTopUp | undefined> {
  return (await records<OpenTopUp>(pool, TAKE, []))[0];
}

/** Takes this top-up, unless it was read in the last five seconds. */
export async function takeOneOpenTopUp(
  pool: pg.Pool,
  organizationId: string,
  topUpId: string,
): Promise<OpenTopUp | undefined> {
  return (await records<OpenTopUp>(pool, TAKE_ONE, [topUpId, organizationId]))[0];
}

export async function endUnboundTopUps(pool: pg.Pool): Promise<void> {
  await run(pool, END_UNBOUND, []);
}

/**
 * Ends a top-up whose session or payment Stripe does not have. An automatic one would otherwise
 * keep others from beginning. False: it began within the last hour.
 */
export async function endMissingTopUp(pool: pg.Pool, topUpId: string): Promise<boolean> {
  return (await failTopUps(pool, END_MISSING, [MISSING, topUpId])) > 0;
}
