import type pg from 'pg';
import { ANSWER_MARGIN_MS, inTransaction, READ_WHOLE, run, sql } from '../connection/connection-pool.ts';
import { isTimedOut } from '../connection/unavailable.ts';
import type { UsageQuery, UsageRow } from './ledger.ts';
import { type TokenRow, tokenList, usageOf } from './usage-columns.ts';

/** Days are integers: PostgreSQL cannot parse all ISO 8601 days (year 0). */
const GROUPS = `case when $4 then day - date '1970-01-01' end as day, case when $5 then model end as model, case when $6 then key_id end as key_id`;
const RANGE = `organization_id = $1 and day between date '1970-01-01' + $2::int and date '1970-01-01' + $3::int`;
const FIGURES = `sum(requests) as requests, ${tokenList((column) => `sum(${column}) as ${column}`)}, sum(cost_nano_usd) as cost_nano_usd`;
const SUMS = `select ${GROUPS}, ${FIGURES} from daily_usage where ${RANGE} group by 1, 2, 3`;

/**
 * Sums of usage by user as well. Requests without a user are the total less those of all users,
 * whose many rows are read only once.
 */
const SUMS_BY_USER = `
  with users as materialized (
    select ${GROUPS}, end_user, ${FIGURES} from user_usage where ${RANGE} group by 1, 2, 3, 4
  )
  select * from users
  union all
  select day, model, key_id, null, ${FIGURES} from (
    ${SUMS}
    union all
    select day, model, key_id, -requests, ${tokenList((column) => `-${column}`)}, -cost_nano_usd from users
  ) as unnamed group by 1, 2, 3 having sum(requests) > 0`;

/** Rows of a page: about 2 ms of work for the reader. */
const PAGE_ROWS = 1_000;
const DECLARE = sql('usage_pages')`declare usage_pages no scroll cursor for ${SUMS} order by 1 desc, 2, 3`;
const DECLARE_BY_USER = sql(
  'usage_pages_by_user',
)`declare usage_pages no scroll cursor for ${SUMS_BY_USER} order by 1 desc, 2, 3, 4`;
const FETCH = sql('usage_page')`fetch ${PAGE_ROWS} from usage_pages`;
/** Longest time that one report may use a connection. It is more than other statements have. */
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

/** Implements Ledger.usage(). All pages are of one snapshot. */
export async function readUsage(
  pool: pg.Pool,
  { organizationId, firstDay, lastDay, groupBy }: UsageQuery,
  onPage: (rows: readonly UsageRow[]) => boolean,
  mostMs = MOST_MS,
): Promise<boolean> {
  const values = [organizationId, firstDay, lastDay, groupBy.has('day'), groupBy.has('model'), groupBy.has('key')];
  const [endsAtMs, answerMs] = [performance.now() + mostMs, mostMs + ANSWER_MARGIN_MS];
  const begin = `begin isolation level repeatable read, read only; set local statement_timeout = ${mostMs}; ${READ_WHOLE}`;
  try {
    return await inTransaction(pool, begin, async (client) => {
      await run(client, groupBy.has('user') ? DECLARE_BY_USER : DECLARE, values, answerMs);
      for (;;) {
        const rows = await run<UsageSums>(client, FETCH, [], answerMs);
        if (!onPage(rows.map(usageRow)) || rows.length < PAGE_ROWS) return true;
        if (performance.now() > endsAtMs) return false;
      }
    });
  } catch (error) {
    // An operator may cancel a statement before its time, with the same error code.
    if (isTimedOut(error) && performance.now() > endsAtMs) return false;
    throw error;
  }
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
