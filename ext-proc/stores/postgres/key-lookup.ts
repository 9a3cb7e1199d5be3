import type pg from 'pg';
import type { UtcDay } from '../../domain/clock.ts';
import type { Principal, RateLimits, Scope } from '../../domain/principal.ts';
import type { KeyStore } from '../key-store.ts';
import type { OnBatch } from '../store-figures.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { createBatching, type Outcome } from './batching.ts';
import { run, type Statement } from './connection-pool.ts';
import { isOwner, type Owner, type OwnerRow } from './memory-mode-lock.ts';

/** A query costs about 240 us of CPU alone and 16 us as one of 32, of both processes together (measured). */
const BOUNDS = {
  maxBatch: 500,
  maxInFlight: 2,
  paceMs: 2,
  company: { perItemMs: 1.5, mostPaceMs: 8 },
  maxWaiting: 20_000,
  waitMs: 2_000,
};

/**
 * A time of revocation in the future is a plan. PostgreSQL's clock judges it, so that all processes agree; a clock that is set back makes
 * nothing usable that was revoked on the spot, because that was decided no earlier than it took effect.
 */
export const IS_REVOKED = 'k.revoked_at <= greatest(now(), k.revocation_decided_at)';

/** Sequences of keys are those of their organization: both change under the account's row lock, so one number orders both. */
const FIND_KEYS: Statement = {
  name: 'find_keys',
  text: `
    select k.hash, k.id, k.organization_id, k.scopes, k.models, k.ip_ranges, k.rpm, k.tpm, k.daily_budget_nano_usd,
      case when ${IS_REVOKED} then (extract(epoch from k.revoked_at) * 1000)::bigint end as revoked_ms, (extract(epoch from k.expires_at) * 1000)::bigint as expires_ms,
      o.suspended_at is not null as suspended, o.allow_n, o.max_tokens, o.concurrency,
      o.rpm as org_rpm, o.tpm as org_tpm, o.daily_budget_nano_usd as org_daily_budget_nano_usd,
      a.sequence, a.balance_nano_usd, coalesce(os.spent_nano_usd, 0) as org_spent, coalesce(ks.spent_nano_usd, 0) as key_spent,
      s.epoch, s.memory_owner, s.limit_store
    from keys k
    join organizations o on o.id = k.organization_id
    join accounts a on a.organization_id = k.organization_id
    left join organization_daily_spend os on os.organization_id = k.organization_id and os.day = date '1970-01-01' + $2::integer
    left join key_daily_spend ks on ks.key_id = k.id and ks.day = date '1970-01-01' + $2::integer
    cross join ledger_state s
    where k.hash = any ($1)`,
};

interface Lookup {
  readonly hash: Buffer;
  readonly day: UtcDay;
}

interface KeyRow extends OwnerRow {
  readonly hash: Buffer;
  readonly id: string;
  readonly organization_id: string;
  readonly scopes: Scope[];
  readonly models: string[] | null;
  readonly ip_ranges: string[] | null;
  readonly rpm: string | null;
  readonly tpm: string | null;
  readonly daily_budget_nano_usd: string | null;
  readonly revoked_ms: string | null;
  readonly expires_ms: string | null;
  readonly suspended: boolean;
  readonly allow_n: boolean;
  readonly max_tokens: string | null;
  readonly concurrency: number;
  readonly org_rpm: string | null;
  readonly org_tpm: string | null;
  readonly org_daily_budget_nano_usd: string | null;
  readonly sequence: string;
  readonly balance_nano_usd: string;
  readonly org_spent: string;
  readonly key_spent: string;
  readonly epoch: string;
}

/**
 * Reads callers, many to a query (DESIGN 3). `owner` is this process's own mark, or that of the store it shares: once another one
 * stands in the database, nothing is admitted here any more.
 */
export function createKeyLookup(pool: pg.Pool, owner: () => Owner | undefined, onBatch?: OnBatch): KeyStore {
  const find = createBatching<Lookup, Principal | undefined>(
    BOUNDS,
    (lookups) => findBatch(pool, lookups, owner),
    (figures) => onBatch?.({ batch: 'key_lookup', ...figures }),
  );
  return { findByHash: (hash, day) => find({ hash, day }) };
}

async function findBatch(
  pool: pg.Pool,
  lookups: readonly Lookup[],
  owner: () => Owner | undefined,
): Promise<readonly Outcome<Principal | undefined>[]> {
  const [first] = lookups;
  const sameDay = lookups.every((lookup) => lookup.day === first?.day);
  if (sameDay) return findAll(pool, lookups, owner);
  // Around midnight only.
  const outcomes = await Promise.all(lookups.map((lookup) => findAll(pool, [lookup], owner)));
  return outcomes.flat();
}

async function findAll(
  pool: pg.Pool,
  lookups: readonly Lookup[],
  owner: () => Owner | undefined,
): Promise<readonly Outcome<Principal | undefined>[]> {
  const day = lookups[0]?.day ?? 0;
  const rows = await run<KeyRow>(pool, FIND_KEYS, [lookups.map((lookup) => lookup.hash), day]);
  const found = new Map(rows.map((row) => [row.hash.toString('latin1'), row]));
  const mine = owner();
  return lookups.map(({ hash }) => {
    const row = found.get(hash.toString('latin1'));
    if (row && mine !== undefined && !isOwner(mine, row)) {
      return { ok: false, error: new StoreUnavailable('another gateway process keeps the limits of this database') };
    }
    return { ok: true, value: row && principalOf(row, day) };
  });
}

function principalOf(row: KeyRow, day: UtcDay): Principal {
  const sequence = Number(row.sequence);
  return {
    key: {
      id: row.id,
      scopes: new Set(row.scopes),
      ...(row.models === null ? {} : { models: new Set(row.models) }),
      ...(row.ip_ranges === null ? {} : { ipRanges: row.ip_ranges }),
      ...(row.revoked_ms === null ? {} : { revokedAtMs: Number(row.revoked_ms) }),
      ...(row.expires_ms === null ? {} : { expiresAtMs: Number(row.expires_ms) }),
      limits: limitsOf(row.rpm, row.tpm, row.daily_budget_nano_usd),
    },
    organization: {
      id: row.organization_id,
      suspended: row.suspended,
      allowMultipleCompletions: row.allow_n,
      ...(row.max_tokens === null ? {} : { maxTokens: Number(row.max_tokens) }),
      concurrency: row.concurrency,
      limits: limitsOf(row.org_rpm, row.org_tpm, row.org_daily_budget_nano_usd),
    },
    account: {
      ledgerEpoch: row.epoch,
      organization: {
        sequence,
        balanceNanoUsd: BigInt(row.balance_nano_usd),
        day,
        spentNanoUsd: BigInt(row.org_spent),
      },
      key: { sequence, day, spentNanoUsd: BigInt(row.key_spent) },
    },
  };
}

export function limitsOf(rpm: string | null, tpm: string | null, dailyBudget: string | null): RateLimits {
  return {
    ...(rpm === null ? {} : { requestsPerMinute: Number(rpm) }),
    ...(tpm === null ? {} : { tokensPerMinute: Number(tpm) }),
    ...(dailyBudget === null ? {} : { dailyBudgetNanoUsd: BigInt(dailyBudget) }),
  };
}
