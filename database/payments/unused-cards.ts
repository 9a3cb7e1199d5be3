import type pg from 'pg';
import { run, sql } from '../connection/connection-pool.ts';

/** A former card that Stripe has not detached yet. */
export interface UnusedCard {
  readonly organizationId: string;
  readonly paymentMethodId: string;
}

const NOTE = sql('note_unused_cards')`
  update payment_accounts p set unused_cards = p.unused_cards || array(
      select c from unnest($2::text[]) c where c is distinct from p.payment_method_id and c <> all (p.unused_cards))
    where p.organization_id = $1`;
/** Leaves out one in use: a late event restores a card if this clock is behind Stripe's. */
const LIST = sql('list_unused_cards')`
  select p.organization_id as "organizationId", c as "paymentMethodId" from payment_accounts p, unnest(p.unused_cards) c
    where c is distinct from p.payment_method_id and ($1::text is null or p.organization_id = $1) order by p.organization_id limit 1000`;
const FORGET = sql('forget_unused_card')`
  update payment_accounts set unused_cards = array_remove(unused_cards, $2) where organization_id = $1`;

/** Notes those of the cards that the organization does not use, in the transaction that decides. */
export async function noteUnusedCards(
  client: pg.PoolClient,
  organizationId: string,
  cards: readonly string[],
): Promise<void> {
  await run(client, NOTE, [organizationId, cards]);
}

/** Absent organization: those of all. */
export async function listUnusedCards(pool: pg.Pool, organizationId?: string): Promise<readonly UnusedCard[]> {
  return run<UnusedCard>(pool, LIST, [organizationId ?? null]);
}

export async function forgetUnusedCard(pool: pg.Pool, { organizationId, paymentMethodId }: UnusedCard): Promise<void> {
  await run(pool, FORGET, [organizationId, paymentMethodId]);
}
