import type pg from 'pg';
import type { UsageGroupName, UsageRowView } from '#contract/money.ts';
import { type UtcDay, utcDayText } from '#core/clock.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import { type TokenRow, tokenList, usageOf } from './usage-columns.ts';

export interface UsageQuery {
  readonly organizationId: string;
  /** Both inclusive. */
  readonly firstDay: UtcDay;
  readonly lastDay: UtcDay;
  readonly groupBy: ReadonlySet<UsageGroupName>;
  readonly key?: string;
  readonly model?: string;
}

const SUMS = `sum(requests)::double precision as requests,
  ${tokenList((column) => `sum(${column})::double precision as ${column}`)}, sum(cost_nano_usd) as cost`;
const WHERE = `from daily_usage where organization_id = $1 and day between date '1970-01-01' + $2::integer and date '1970-01-01' + $3::integer
  and ($4::text is null or key_id = $4) and ($5::text is null or model = $5)`;

const ROWS: Statement = {
  name: 'usage_rows',
  text: `select u.*, k.name as key_name
    from (
      select case when $6 then day - date '1970-01-01' end as day, case when $7 then model end as model, case when $8 then key_id end as key_id,
        ${SUMS}
      ${WHERE} group by 1, 2, 3
      order by 1 desc, cost desc, 2, 3 limit $9
    ) as u left join keys k on k.id = u.key_id
    order by u.day desc, u.cost desc, u.model, u.key_id`,
};
const TOTAL: Statement = { name: 'usage_total', text: `select ${SUMS} ${WHERE}` };

/** All of them are null where there are no rows. */
interface SumsRow extends TokenRow<number | null> {
  readonly requests: number | null;
  readonly cost: string | null;
}

interface UsageRow extends SumsRow {
  readonly day: number | null;
  readonly model: string | null;
  readonly key_id: string | null;
  readonly key_name: string | null;
}

/** Newest day first, then the largest by cost. */
export async function usageRows(pool: pg.Pool, query: UsageQuery, limit: number): Promise<readonly UsageRowView[]> {
  const { groupBy } = query;
  const groups = [groupBy.has('day'), groupBy.has('model'), groupBy.has('key')];
  const rows = await run<UsageRow>(pool, ROWS, [...rangeOf(query), ...groups, limit]);
  return rows.map((row) => ({
    ...(row.day === null ? {} : { day: utcDayText(row.day) }),
    ...(row.model === null ? {} : { model: row.model }),
    ...(row.key_id === null ? {} : { keyId: row.key_id, keyName: row.key_name ?? row.key_id }),
    ...sumsOf(row),
  }));
}

/** Total of all rows, for any grouping. */
export async function usageTotal(pool: pg.Pool, query: UsageQuery): Promise<UsageRowView> {
  const [row] = await run<SumsRow>(pool, TOTAL, rangeOf(query));
  if (row === undefined) throw new Error('a select of sums gave no row');
  return sumsOf(row);
}

function rangeOf({ organizationId, firstDay, lastDay, key, model }: UsageQuery): unknown[] {
  return [organizationId, firstDay, lastDay, key ?? null, model ?? null];
}

function sumsOf(row: SumsRow): UsageRowView {
  return { requests: row.requests ?? 0, ...usageOf(row), costNanoUsd: row.cost ?? '0' };
}
