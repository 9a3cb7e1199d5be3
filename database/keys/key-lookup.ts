import type pg from 'pg';
import { createJoinedCalls, type Outcome } from '#core/batching/joined-calls.ts';
import type { UtcDay } from '#core/clock.ts';
import type { Principal, Scope } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { run, sql } from '../connection/connection-pool.ts';
import type { BatchOptions } from '../connection/store-figures.ts';
import { isOwner, type Owner, type OwnerRow } from '../limits-ownership/limits-owner.ts';
import type { ReadFences } from '../limits-ownership/shard-fences.ts';
import {
  KEY_LIMIT_COLUMNS,
  RATE_LIMIT_COLUMNS,
  RULE_COLUMNS,
  settingsReader,
  settingValues,
} from '../organizations/setting-columns.ts';
import { type AccountFields, snapshotOf } from './account-snapshot.ts';
import type { KeyStore } from './key-store.ts';

/**
 * Bounds of lookups. A query for one key costs about as much as ten calls with that key, and one
 * for ten keys twice as much (measured). Above 333 calls a second, calls wait longer.
 */
const BOUNDS = {
  maxBatch: 500,
  maxInFlight: 2,
  paceMs: 2,
  growingPace: { perItemMs: 3, longestPaceMs: 8 },
  maxWaiting: 20_000,
  waitMs: 2_000,
};
/** Bounds if processes share the load: calls wait above 125 a second, and twice as long. */
const SHARED_BOUNDS = { ...BOUNDS, growingPace: { perItemMs: 8, longestPaceMs: 16 } };

/**
 * SQL for "is revoked now". A scheduled revocation has a time in the future. PostgreSQL's clock
 * decides, so all processes agree. `revocation_decided_at` keeps an immediate revocation in force
 * even if the clock is set back.
 */
export const IS_REVOKED = 'k.revoked_at <= greatest(now(), k.revocation_decided_at)';
/** SQL for an active key, which is neither revoked nor expired. */
export const IS_ACTIVE = `not coalesce(${IS_REVOKED}, false) and coalesce(k.expires_at > now(), true)`;

/**
 * Reads callers. A caller is one JSON value, because parsing 25 columns takes `pg` longer than
 * PostgreSQL needs to find them.
 */
const FIND_KEYS = sql('find_keys')`
    select json_build_array(
      encode(k.hash, 'hex'),
      json_build_object('memory_owner', s.memory_owner, 'limit_store', s.limit_store, 'store_fences', s.store_fences),
      json_build_array(
        k.id, k.scopes, k.models, k.ip_ranges,
        case when ${IS_REVOKED} then (extract(epoch from k.revoked_at) * 1000)::bigint end,
        case when not ${IS_REVOKED} then floor(extract(epoch from k.revoked_at - now()) * 1000)::bigint end,
        (extract(epoch from k.expires_at) * 1000)::bigint, ${settingValues(KEY_LIMIT_COLUMNS, 'k')}
      ),
      json_build_array(o.id, o.suspended_at is not null, json_build_array(${settingValues(RATE_LIMIT_COLUMNS, 'o')}), ${settingValues(RULE_COLUMNS, 'o')}),
      json_build_array(
        s.epoch, a.sequence + a.dead_letter_changes, (a.balance_nano_usd - a.dead_letters_nano_usd)::text, coalesce(os.spent_nano_usd, 0)::text, coalesce(ks.spent_nano_usd, 0)::text,
        case when k.monthly_budget_nano_usd is not null then key_month_spend(k.id, date '1970-01-01' + $2::integer)::text end,
        case when k.lifetime_budget_nano_usd is not null then key_lifetime_spend(k.id)::text end
      )
    ) as caller
    from keys k
    join organizations o on o.id = k.organization_id
    join accounts a on a.organization_id = k.organization_id
    left join organization_daily_spend os on os.organization_id = k.organization_id and os.day = date '1970-01-01' + $2::integer
    left join key_daily_spend ks on ks.key_id = k.id and ks.day = date '1970-01-01' + $2::integer
    cross join ledger_state s
    where k.hash = any ($1)`;

interface Lookup {
  readonly hash: Buffer;
  readonly day: UtcDay;
}

type KeyFields = readonly [
  id: string,
  scopes: readonly Scope[],
  models: readonly string[] | null,
  ipRanges: readonly string[] | null,
  revokedAtMs: number | null,
  revokedInMs: number | null,
  expiresAtMs: number | null,
  ...limits: unknown[],
];
type OrganizationFields = readonly [id: string, suspended: boolean, limits: readonly unknown[], ...rules: unknown[]];
type Account = readonly [epoch: string, ...AccountFields];
type Caller = readonly [hash: string, owner: OwnerRow, KeyFields, OrganizationFields, Account];

/** The claim of this process on the limits, which it keeps itself or shares. */
export interface LimitsClaim {
  readonly owner: () => Owner | undefined;
  readonly fences: Pick<ReadFences, 'observe'>;
}

/**
 * Reads callers in batches (docs/design.md, "Callers in memory"). `owner` is the mark of this
 * process or of its shared store. Once the database has another mark, this process admits nothing.
 */
export function createKeyLookup(
  pool: pg.Pool,
  claim: LimitsClaim,
  { severalProcesses = false, onBatch }: BatchOptions,
): KeyStore {
  const find = createJoinedCalls<Lookup, Principal | undefined>({
    store: 'PostgreSQL',
    bounds: severalProcesses ? SHARED_BOUNDS : BOUNDS,
    runBatch: (lookups) => findBatch(pool, lookups, claim),
    onBatch: (figures) => onBatch?.({ batch: 'key_lookup', ...figures }),
  });
  return { findByHash: (hash, day) => find({ hash, day }) };
}

async function findBatch(
  pool: pg.Pool,
  lookups: readonly Lookup[],
  claim: LimitsClaim,
): Promise<readonly Outcome<Principal | undefined>[]> {
  const [first] = lookups;
  const sameDay = lookups.every((lookup) => lookup.day === first?.day);
  if (sameDay) return findAll(pool, lookups, claim);
  // Only around midnight do lookups have different days.
  const outcomes = await Promise.all(lookups.map((lookup) => findAll(pool, [lookup], claim)));
  return outcomes.flat();
}

async function findAll(
  pool: pg.Pool,
  lookups: readonly Lookup[],
  { owner, fences }: LimitsClaim,
): Promise<readonly Outcome<Principal | undefined>[]> {
  const day = lookups[0]?.day ?? 0;
  const readAtMs = performance.now();
  const rows = await run<{ caller: Caller }>(pool, FIND_KEYS, [lookups.map((lookup) => lookup.hash), day]);
  const mine = owner();
  const read = rows[0]?.caller[1];
  if (read) fences.observe(read.store_fences, readAtMs);
  const found = new Map(rows.map(({ caller }) => [caller[0], outcomeOf(caller, day, mine)]));
  return lookups.map(({ hash }) => found.get(hash.toString('hex')) ?? UNKNOWN);
}

const UNKNOWN = { ok: true, value: undefined } as const;

function outcomeOf(caller: Caller, day: UtcDay, mine: Owner | undefined): Outcome<Principal> {
  const [, owner, key, organization, [epoch, ...account]] = caller;
  if (mine !== undefined && !isOwner(mine, owner)) {
    return { ok: false, error: new StoreUnavailable('another gateway process keeps the limits of this database') };
  }
  const snapshot = snapshotOf(epoch, day, account);
  return { ok: true, value: { key: keyOf(key), organization: organizationOf(organization), account: snapshot } };
}

const readKeyLimits = settingsReader(KEY_LIMIT_COLUMNS);
const readRateLimits = settingsReader(RATE_LIMIT_COLUMNS);
const readRules = settingsReader(RULE_COLUMNS);

function keyOf(fields: KeyFields): Principal['key'] {
  const [id, scopes, models, ipRanges, revokedAtMs, revokedInMs, expiresAtMs, ...limits] = fields;
  return {
    id,
    scopes: new Set(scopes),
    ...(models === null ? {} : { models: new Set(models) }),
    ...(ipRanges === null ? {} : { ipRanges }),
    ...(revokedAtMs === null ? {} : { revokedAtMs }),
    ...(revokedInMs === null ? {} : { revokedInMs }),
    ...(expiresAtMs === null ? {} : { expiresAtMs }),
    limits: readKeyLimits(limits),
  };
}

function organizationOf([id, suspended, limits, ...rules]: OrganizationFields): Principal['organization'] {
  return { id, suspended, ...readRules(rules), limits: readRateLimits(limits) };
}
