import type pg from 'pg';
import { only, run, sql } from '../connection/connection-pool.ts';
import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from './idempotency-store.ts';

const CLAIM = sql('claim_idempotency_key')`select * from claim_idempotency_key($1, $2, $3, $4, $5, $6, $7)`;
const RENEW = sql('renew_idempotency_keys')`select renew_idempotency_keys($1::text[], $2::bytea[], $3::text[], $4)`;
const FREE = sql('free_idempotency_key')`
  delete from idempotency_keys where organization_id = $1 and key_hash = $2 and generation_id = $3 and finished_at is null`;
const RESPONSE = sql('stored_response')`
  select substring(response from $4 for $5) as piece from idempotency_keys
    where organization_id = $1 and key_hash = $2 and generation_id = $3 and finished_at is not null`;
/** Uses `now()`, because a comparison with `clock_timestamp()` cannot use an index. */
const DELETE_OLDER = sql('delete_idempotency_keys')`
    with old as materialized (
      select organization_id, key_hash from idempotency_keys
      where coalesce(finished_at, lease_until) < now() - $1 * interval '1 millisecond'
      order by coalesce(finished_at, lease_until) limit $2 for update skip locked
    )
    delete from idempotency_keys k using old where k.organization_id = old.organization_id and k.key_hash = old.key_hash returning 1`;

const TIDY = sql('tidy_stored_responses')`
  select worked::int, evicted::int, bytes::float8 from tidy_stored_responses($1, $2)`;

interface ClaimRow {
  readonly outcome: 'claimed' | 'reused' | 'running' | 'expired' | 'finished';
  readonly generation_id: string | null;
  readonly response_bytes: string | null;
}

export function createIdempotencyStore(pool: pg.Pool): IdempotencyStore {
  return {
    claim: (request) => claim(pool, request),
    async renew(claims, leaseMs) {
      if (claims.length === 0) return;
      const columns = [
        claims.map((one) => one.organizationId),
        claims.map((one) => one.keyHash),
        claims.map((one) => one.generationId),
      ];
      await run(pool, RENEW, [...columns, leaseMs]);
    },
    async free(held) {
      await run(pool, FREE, identityOf(held));
    },
    async piece(held, from, bytes) {
      const [row] = await run<{ piece: Buffer | null }>(pool, RESPONSE, [...identityOf(held), from + 1, bytes]);
      return row?.piece ?? undefined;
    },
    async deleteOlderThan(retentionMs, limit) {
      const rows = await run(pool, DELETE_OLDER, [retentionMs, limit]);
      return rows.length;
    },
    async tidyStored(boundBytes, limit) {
      const row = await only<{ worked: number; evicted: number; bytes: number }>(pool, TIDY, [boundBytes, limit]);
      return { changed: row.worked, evicted: row.evicted, storedBytes: row.bytes };
    },
  };
}

async function claim(pool: pg.Pool, request: ClaimRequest): Promise<ClaimResult> {
  const { organizationId, keyHash, bodyHash, generationId, leaseMs, retentionMs, leaveExpired = false } = request;
  const values = [organizationId, keyHash, bodyHash, generationId, leaseMs, retentionMs, leaveExpired];
  const row = await only<ClaimRow>(pool, CLAIM, values);
  if (row.outcome !== 'finished' && row.outcome !== 'expired') return { kind: row.outcome };
  if (row.generation_id === null) throw new Error(`a ${row.outcome} attempt has no generation`);
  if (row.outcome === 'expired') return { kind: 'expired', generationId: row.generation_id };
  return { kind: 'finished', generationId: row.generation_id, sealedBytes: Number(row.response_bytes) };
}

function identityOf({ organizationId, keyHash, generationId }: Claim): unknown[] {
  return [organizationId, keyHash, generationId];
}
