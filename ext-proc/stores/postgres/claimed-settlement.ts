import type pg from 'pg';
import type { ClaimedSettlement } from '../ledger.ts';
import { run, type Statement } from './connection-pool.ts';

/** A repeated settlement finds its own answer there and changes nothing. One whose row was deleted meanwhile had no rival: it is kept. */
const KEEP_ANSWER: Statement = {
  name: 'keep_idempotent_answer',
  text: `
    insert into idempotency_keys as k (organization_id, key_hash, body_hash, generation_id, lease_until, finished_at, answer)
    values ($1, $2, $3, $4, clock_timestamp(), clock_timestamp(), $5)
    on conflict (organization_id, key_hash) do update
      set finished_at = coalesce(k.finished_at, excluded.finished_at), answer = coalesce(k.answer, excluded.answer)
      where k.generation_id = excluded.generation_id
    returning true as mine`,
};

/** A key that nobody has was freed by the retention, or by an attempt that took it over and failed: this one may be charged. */
const FREE_KEY: Statement = {
  name: 'free_idempotency_key_at_charge',
  text: `
    with freed as (
      delete from idempotency_keys where organization_id = $1 and key_hash = $2 and generation_id = $3 and finished_at is null
    )
    select not exists (
      select from idempotency_keys where organization_id = $1 and key_hash = $2 and generation_id <> $3
    ) as mine`,
};

/** The fence (DESIGN 3): ends the attempt's claim. False: another attempt has the key, and this one must not be charged. */
export async function endClaim(client: pg.PoolClient, settlement: ClaimedSettlement): Promise<boolean> {
  const { organizationId, generationId, claim } = settlement;
  const { keyHash, bodyHash, answer } = claim;
  const rows =
    answer === undefined
      ? await run<{ mine: boolean }>(client, FREE_KEY, [organizationId, keyHash, generationId])
      : await run<{ mine: boolean }>(client, KEEP_ANSWER, [organizationId, keyHash, bodyHash, generationId, answer]);
  return rows[0]?.mine === true;
}

/** Rows are locked in this order, so that two batches cannot wait for each other. */
export function inClaimOrder(batch: readonly ClaimedSettlement[]): ClaimedSettlement[] {
  return batch.toSorted(
    (a, b) =>
      Number(a.organizationId > b.organizationId) - Number(a.organizationId < b.organizationId) ||
      Buffer.compare(a.claim.keyHash, b.claim.keyHash),
  );
}
