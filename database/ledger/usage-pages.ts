import type pg from 'pg';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import type { UsageQuery, UsageRow } from './ledger.ts';
import { type TokenRow, tokenList, usageOf } from './usage-columns.ts';

/** Sums of usage. Days are integers: PostgreSQL cannot parse all ISO 8601 days (year 0). */
const SUMS = `
  select case when $4 then day - date '1970-01-01' end as day, case when $5 then model end as model, case when $6 then key_id end as key_id,
    sum(requests) as requests, ${tokenList((column) => `sum(${column}) as ${column}`)}, sum(cost_nano_usd) as cost_nano_usd
  from daily_usage where organization_id = $1 and day between date '1970-01-01' + $2::int and date '1970-01-01' + $3::int
  group by 1, 2, 3 order by 1 desc, 2, 3`;

/**
 * Sums of usage by user as well. Requests without a user are the total less those of all users, so
 * that charges without a user are counted only once.
 */
const SUMS_BY_USER = `
  select case when $4 then day - date '1970-01-01' end as day, case when $5 then model end as model, case when $6 then key_id end as key_id,
    end_user, sum(requests) as requests, ${tokenList((column) => `sum(${column}) as ${column}`)}, sum(cost_nano_usd) as cost_nano_usd
  from (
    select organization_id, day, model, key_id, end_user, requests, ${tokenList()}, cost_nano_usd from user_usage
    union all
    select organization_id, day, model, key_id, null, -requests, ${tokenList((column) => `-${column}`)}, -cost_nano_usd from user_usage
    union all
    select organization_id, day, model, key_id, null, requests, ${tokenList()}, cost_nano_usd from daily_usage
  ) as u where organization_id = $1 and day between date '1970-01-01' + $2::int and date '1970-01-01' + $3::int
  group by 1, 2, 3, 4 having sum(requests) > 0 order by 1 desc, 2, 3, 4`;

/** Rows of a page: about 2 ms of work for the reader. */
const PAGE_ROWS = 1_000;
/** First page without a cursor. Usually it is the only one, and this needs one round trip. */
const FIRST = sql('usage')`${SUMS} limit ${PAGE_ROWS + 1}`;
const DECLARE = sql('usage_pages')`declare usage_pages no scroll cursor for ${SUMS}`;
const FIRST_BY_USER = sql('usage_by_user')`${SUMS_BY_USER} limit ${PAGE_ROWS + 1}`;
const DECLARE_BY_USER = sql('usage_pages_by_user')`declare usage_pages no scroll cursor for ${SUMS_BY_USER}`;
const FETCH = sql('usage_page')`fetch ${PAGE_ROWS} from usage_pages`;
/** Longest time that one report may use a connection. */
const MOST_MS = 10_000;

interface UsageSums extends TokenRow {
  readonly day: number | null;
  readonly model: string | null;
  readonly key_id: string | null;
  /** `undefined`: not grouped by user. */
  readonly end_user?: string | null;
  readonly requests: string;
  readonly cost_nano_usd: string;
}

/** Implements Ledger.usage(). Rejects with StoreUnavailable, also if it takes over ten seconds. */
export async function readUsage(
  pool: pg.Pool,
  query: UsageQuery,
  onPage: (rows: readonly UsageRow[]) => boolean,
): Promise<void> {
  const { organizationId, firstDay, lastDay, groupBy } = query;
  const values = [organizationId, firstDay, lastDay, groupBy.has('day'), groupBy.has('model'), groupBy.has('key')];
  const isByUser = groupBy.has('user');
  const first = await run<UsageSums>(pool, isByUser ? FIRST_BY_USER : FIRST, values);
  if (first.length <= PAGE_ROWS) {
    onPage(first.map(usageRow));
    return;
  }
  const endsAtMs = performance.now() + MOST_MS;
  // One snapshot for all pages.
  await inTransaction(pool, 'begin isolation level repeatable read, read only', async (client) => {
    await run(client, isByUser ? DECLARE_BY_USER : DECLARE, values);
    for (;;) {
      const rows = await run<UsageSums>(client, FETCH, []);
      if (!onPage(rows.map(usageRow)) || rows.length < PAGE_ROWS) return;
      if (performance.now() > endsAtMs) throw new StoreUnavailable(`usage was not summed up within ${MOST_MS} ms`);
    }
  });
}

function usageRow(row: UsageSums): UsageRow {
  return {
    ...(row.day === null ? {} : { day: row.day }),
    ...(row.model === null ? {} : { model: row.model }),
    ...(row.key_id === null ? {} : { keyId: row.key_id }),
    ...(row.end_user === undefined ? {} : { user: row.end_user }),
    requests: Number(row.requests),
    usage: usageOf(row),
    costNanoUsd: BigInt(row.cost_nano_usd),
  };
}
