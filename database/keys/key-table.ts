import type pg from 'pg';
import { type UtcDay, utcDay } from '#core/clock.ts';
import { type Columns, csvTime, csvUsd } from '#core/csv.ts';
import { type KeyState, keyStateAt } from '#core/key-state.ts';
import { present } from '#core/present.ts';
import { sql } from '../connection/connection-pool.ts';
import { DETAIL_COLUMNS, DETAIL_JOINS, type KeyDetails, SPENDS } from './key-details.ts';
import { IS_REVOKED } from './key-lookup.ts';
import type { KeyRecord } from './key-records.ts';
import { KEY_COLUMNS, readKeys } from './key-rows.ts';

/** A key with its use, as a row of the keys' CSV file. */
export interface ListedKey {
  readonly key: KeyRecord & KeyDetails;
  readonly state: KeyState;
}

export interface KeyTableStep {
  readonly rows: readonly ListedKey[];
  /** Id of the last row. Absent: there are no more rows. */
  readonly next?: string;
}

const PAGE = sql('key_page')`
  select ${KEY_COLUMNS}, ${DETAIL_COLUMNS} from keys k ${DETAIL_JOINS}
    where k.organization_id = $1 and not k.playground and ($2::text is null
      or (k.created_at, k.id) < (select b.created_at, b.id from keys b where b.id = $2 and b.organization_id = $1))
    order by k.created_at desc, k.id desc limit $5`;

/**
 * Reads the keys that are not revoked, and the newest revoked ones: those after the newest one that
 * is left out, which is looked up once.
 */
const NEWEST = sql('newest_keys')`
  select ${KEY_COLUMNS}, ${DETAIL_COLUMNS} from keys k ${DETAIL_JOINS}
    where k.organization_id = $1 and not k.playground and (not coalesce(${IS_REVOKED}, false) or coalesce((k.created_at, k.id) > (
      select k.created_at, k.id from keys k
      where k.organization_id = $1 and not k.playground and ${IS_REVOKED}
      order by k.created_at desc, k.id desc offset $2::integer limit 1
    ), true)) order by k.created_at desc, k.id desc`;

/**
 * Returns keys with their details, newest first, without playground keys and with at most
 * `mostRevoked` revoked ones. One statement reads both, so that no call keeps a long list while it
 * waits for its turn at the database.
 */
export async function newestKeys(
  pool: pg.Pool,
  organizationId: string,
  mostRevoked: number,
  today: UtcDay,
): Promise<readonly (KeyRecord & KeyDetails)[]> {
  return readKeys<KeyDetails>(pool, NEWEST, [organizationId, mostRevoked, today, false], SPENDS);
}

/** Reads one step of an organization's keys, newest first, without playground keys. */
export async function readKeyTable(
  pool: pg.Pool,
  {
    organizationId,
    before,
    limit,
  }: { readonly organizationId: string; readonly before?: string; readonly limit: number },
  nowMs: number,
): Promise<KeyTableStep> {
  const values = [organizationId, before ?? null, utcDay(nowMs), true, limit];
  const keys = await readKeys<KeyDetails>(pool, PAGE, values, SPENDS);
  const rows = keys.map((key) => ({ key, state: keyStateAt(key, nowMs) }));
  return { rows, ...present({ next: keys.length < limit ? undefined : keys.at(-1)?.id }) };
}

/** Lists are separated by spaces, which members never have. An empty cell: no restriction. */
export const KEY_CSV_COLUMNS: Columns<ListedKey> = [
  ['key_id', ({ key }) => key.id],
  ['name', ({ key }) => key.name],
  ['key', ({ key }) => `sk-gw-…${key.last4}`],
  ['member', ({ key }) => key.creator],
  ['status', ({ state }) => state],
  ['created', ({ key }) => csvTime(key.createdAtMs)],
  ['last_used', ({ key }) => csvTime(key.lastUsedAtMs)],
  ['last_address', ({ key }) => key.lastAddress],
  ['expires', ({ key }) => csvTime(key.expiresAtMs)],
  ['revoked', ({ key }) => csvTime(key.revokedAtMs)],
  ['scopes', ({ key }) => key.scopes.join(' ')],
  ['models', ({ key }) => key.models?.join(' ')],
  ['addresses', ({ key }) => key.ipRanges?.join(' ')],
  ['rpm', ({ key }) => key.requestsPerMinute],
  ['tpm', ({ key }) => key.tokensPerMinute],
  ['daily_budget_usd', ({ key }) => csvUsd(key.dailyBudgetNanoUsd)],
  ['monthly_budget_usd', ({ key }) => csvUsd(key.monthlyBudgetNanoUsd)],
  ['lifetime_budget_usd', ({ key }) => csvUsd(key.lifetimeBudgetNanoUsd)],
  ['spent_today_usd', ({ key }) => csvUsd(key.spentTodayNanoUsd)],
  ['spent_this_month_usd', ({ key }) => csvUsd(key.spentThisMonthNanoUsd)],
  ['spent_in_lifetime_usd', ({ key }) => csvUsd(key.spentInLifetimeNanoUsd)],
  ['note', ({ key }) => key.note],
];
