import type pg from 'pg';
import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { nameForMembers } from '../audit/audit.ts';
import { run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';

/** Details of a key for the dashboard: its maker and its use. */
export interface KeyDetails {
  /** E-mail address; operators are shown as THE_OPERATOR. */
  readonly creator?: string;
  readonly lastUsedAtMs?: number;
  readonly lastAddress?: string;
  readonly spentTodayNanoUsd: NanoUsd;
  /** Present if the key has a monthly budget, or all spends were asked for. */
  readonly spentThisMonthNanoUsd?: NanoUsd;
  /** Present if the key has a lifetime budget, or all spends were asked for. */
  readonly spentInLifetimeNanoUsd?: NanoUsd;
}

const DETAILS = sql('key_details')`
  select k.id,
      ${nameForMembers('u', 'k.organization_id')} as creator,
      ${milliseconds('a.last_used_at')} as used_ms, a.last_address, coalesce(s.spent_nano_usd, 0) as spent,
      case when $4 or k.monthly_budget_nano_usd is not null then key_month_spend(k.id, date '1970-01-01' + $3::integer) end as month_spent,
      case when $4 or k.lifetime_budget_nano_usd is not null then key_lifetime_spend(k.id) end as lifetime_spent
    from keys k
    left join users u on u.id = k.created_by
    left join key_activity a on a.key_id = k.id
    left join key_daily_spend s on s.key_id = k.id and s.day = date '1970-01-01' + $3::integer
    where k.organization_id = $1 and k.id = any ($2)`;

interface DetailsRow {
  readonly id: string;
  readonly creator: string | null;
  readonly used_ms: number | null;
  readonly last_address: string | null;
  readonly spent: string;
  readonly month_spent: string | null;
  readonly lifetime_spent: string | null;
}

/**
 * Details of these keys of the organization, by key id. Sums of months and lifetimes read more
 * rows, so the page asks only for those that are compared with a budget.
 */
export async function keyDetails(
  pool: pg.Pool,
  organizationId: string,
  keyIds: readonly string[],
  today: UtcDay,
  spends: 'budgeted_spends' | 'all_spends',
): Promise<ReadonlyMap<string, KeyDetails>> {
  const rows = await run<DetailsRow>(pool, DETAILS, [organizationId, keyIds, today, spends === 'all_spends']);
  return new Map(rows.map((row) => [row.id, detailsOf(row)]));
}

function detailsOf(row: DetailsRow): KeyDetails {
  return {
    ...(row.creator === null ? {} : { creator: row.creator }),
    ...(row.used_ms === null ? {} : { lastUsedAtMs: row.used_ms }),
    ...(row.last_address === null ? {} : { lastAddress: row.last_address }),
    spentTodayNanoUsd: BigInt(row.spent),
    ...(row.month_spent === null ? {} : { spentThisMonthNanoUsd: BigInt(row.month_spent) }),
    ...(row.lifetime_spent === null ? {} : { spentInLifetimeNanoUsd: BigInt(row.lifetime_spent) }),
  };
}
