import type pg from 'pg';
import { run, sql } from '../connection/connection-pool.ts';
import type { ClaimedSettlement } from './ledger.ts';

const STORE_RESPONSE = sql('store_response')`
  select mine, stored::float8 from store_response($1, $2, $3, $4, $5, $6)`;

/** Keeps a key claimed while its response is in another process's log, unless that has arrived. */
const KEEP_KEY = sql('keep_idempotency_key')`
    insert into idempotency_keys as k (organization_id, key_hash, body_hash, generation_id, lease_until, charged_at)
    values ($1, $2, $3, $4, clock_timestamp(), clock_timestamp())
    on conflict (organization_id, key_hash) do update set charged_at = coalesce(k.charged_at, excluded.charged_at)
      where k.generation_id = excluded.generation_id
    returning true as mine`;

/**
 * Frees the key of a charge without a response. If the row is missing, the retention has deleted
 * it, or another request took the key over and failed. In both cases this request may be charged.
 */
const FREE_KEY = sql('free_idempotency_key_at_charge')`
    with freed as (
      delete from idempotency_keys where organization_id = $1 and key_hash = $2 and generation_id = $3 and finished_at is null
    )
    select not exists (
      select from idempotency_keys where organization_id = $1 and key_hash = $2 and generation_id <> $3
    ) as mine`;

/** Larger statements get a longer timeout: 64 MiB took 1.6 of 3 s on a slow disk (measured). */
const LARGE_BYTES = 1024 * 1024;
const TIMEOUT_MS = 5_000;
const TIMEOUT_MS_PER_MIB = 250;
const ANSWER_MARGIN_MS = 500;

/** Bound of a batch in bytes, so that no transaction is larger than the largest response. */
const BATCH_BYTES = 16 * 1024 * 1024;

/**
 * Ends a claim, and is its fence (docs/design.md, "Idempotency"). `undefined`: another request has
 * the key, so this one must not be charged. Otherwise returns the stored bytes, which the charge
 * adds to the sum; 0 if the response alone is larger than `boundBytes`.
 */
export async function endClaim(
  client: pg.PoolClient,
  settlement: ClaimedSettlement,
  boundBytes: number,
): Promise<number | undefined> {
  const { organizationId, generationId, claim } = settlement;
  const { keyHash, bodyHash, response, responseElsewhere, takenOver } = claim;
  if (takenOver) return undefined;
  if (responseElsewhere) {
    const kept = await run<{ mine: boolean }>(client, KEEP_KEY, [organizationId, keyHash, bodyHash, generationId]);
    return kept[0]?.mine ? 0 : undefined;
  }
  if (response === undefined) {
    const rows = await run<{ mine: boolean }>(client, FREE_KEY, [organizationId, keyHash, generationId]);
    return rows[0]?.mine ? 0 : undefined;
  }
  const values = [organizationId, keyHash, bodyHash, generationId, response, boundBytes];
  const timeoutMs = await allowTimeFor(client, response);
  const [kept] = await run<{ mine: boolean; stored: number }>(client, STORE_RESPONSE, values, timeoutMs);
  return kept?.mine ? kept.stored : undefined;
}

/** Raises this transaction's timeout for a large response. `undefined`: it is long enough. */
async function allowTimeFor(client: pg.PoolClient, response: Buffer): Promise<number | undefined> {
  if (response.length < LARGE_BYTES) return undefined;
  const timeoutMs = TIMEOUT_MS + Math.ceil(response.length / LARGE_BYTES) * TIMEOUT_MS_PER_MIB;
  await client.query(`set local statement_timeout = ${timeoutMs}`);
  return timeoutMs + ANSWER_MARGIN_MS;
}

/** Splits a batch into parts of bounded size, each of at least one settlement. */
export function inParts<S extends ClaimedSettlement>(batch: readonly S[]): S[][] {
  const parts: S[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const settlement of batch) {
    const size = settlement.claim.response?.length ?? 0;
    if (bytes + size > BATCH_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(settlement);
    bytes += size;
  }
  return parts;
}

/** Sorts by key hash, so that all batches lock rows in this order and cannot deadlock. */
export function inClaimOrder(batch: readonly ClaimedSettlement[]): ClaimedSettlement[] {
  return batch.toSorted(
    (a, b) =>
      Number(a.organizationId > b.organizationId) - Number(a.organizationId < b.organizationId) ||
      Buffer.compare(a.claim.keyHash, b.claim.keyHash),
  );
}
