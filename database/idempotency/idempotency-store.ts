import type pg from 'pg';
import { only, run, sql } from '../connection/connection-pool.ts';

/** Claim of a request. Its generation id, new for each request, is the fencing token. */
export interface Claim {
  readonly organizationId: string;
  /** 32 bytes. */
  readonly keyHash: Buffer;
  readonly generationId: string;
}

export interface ClaimRequest extends Claim {
  /** Keyed hash, 32 bytes. It only shows whether the body is the same. */
  readonly bodyHash: Buffer;
  /** The claim expires if it is not renewed for this long. */
  readonly leaseMs: number;
  readonly retentionMs: number;
  /** Does not claim the key of an expired claim, but returns `expired`. */
  readonly leaveExpired?: boolean;
}

export type ClaimResult =
  | { readonly kind: 'claimed' }
  /** `reused`: the key was used with another body. */
  | { readonly kind: 'reused' | 'running' }
  /** The other claim was not renewed in time. */
  | { readonly kind: 'expired'; readonly generationId: string }
  | { readonly kind: 'finished'; readonly generationId: string; readonly sealedBytes: number };

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

/**
 * Claims on idempotency keys and the responses that are replayed for them (docs/design.md,
 * "Idempotency"). The ledger writes the stored response in the transaction of its charge, so a
 * replay and its charge cannot disagree. Methods reject with StoreUnavailable.
 */
export function createIdempotencyStore(pool: pg.Pool) {
  return {
    /** Claims a free key. Of several concurrent claims one succeeds. */
    claim: (request: ClaimRequest) => claim(pool, request),
    /** Extends leases. A claim that has lost its key is skipped: its settlement will notice. */
    async renew(claims: readonly Claim[], leaseMs: number): Promise<void> {
      if (claims.length === 0) return;
      const columns = [
        claims.map((one) => one.organizationId),
        claims.map((one) => one.keyHash),
        claims.map((one) => one.generationId),
      ];
      await run(pool, RENEW, [...columns, leaseMs]);
    },
    /** Frees a key without a response, unless another request claimed it or it has a response. */
    async free(held: Claim): Promise<void> {
      await run(pool, FREE, identityOf(held));
    },
    /**
     * Reads at most `bytes` of a sealed response from `from` on; `undefined`: it was deleted. A
     * response never changes. PostgreSQL sends bytes as hexadecimal text, so large pieces take
     * three times their memory.
     */
    async piece(held: Claim, from: number, bytes: number): Promise<Buffer | undefined> {
      const [row] = await run<{ piece: Buffer | null }>(pool, RESPONSE, [...identityOf(held), from + 1, bytes]);
      return row?.piece ?? undefined;
    },
    /** Deletes rows older than that, oldest first, at most `limit`. Returns the number deleted. */
    async deleteOlderThan(retentionMs: number, limit: number): Promise<number> {
      const rows = await run(pool, DELETE_OLDER, [retentionMs, limit]);
      return rows.length;
    },
    /**
     * Corrects each organization's sum of stored bytes after deletions without a charge. Evicts the
     * oldest responses of organizations above the bound. Changes at most about `limit` rows of each
     * kind: if `changed` equals it, there is more to do. `storedBytes` is of all organizations.
     */
    async tidyStored(boundBytes: number, limit: number) {
      const row = await only<{ worked: number; evicted: number; bytes: number }>(pool, TIDY, [boundBytes, limit]);
      return { changed: row.worked, evicted: row.evicted, storedBytes: row.bytes };
    },
  };
}

export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

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
