import type pg from 'pg';
import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { nameForMembers } from '../audit/audit.ts';
import { records, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';

/** Creator and use of a key, for the dashboard. */
export interface KeyDetails {
  /** Email address. Operators are shown as THE_OPERATOR. */
  readonly creator?: string;
  readonly lastUsedAtMs?: number;
  readonly lastAddress?: string;
  readonly spentTodayNanoUsd: NanoUsd;
  /** Present if the key has a monthly budget, or all spends were requested. */
  readonly spentThisMonthNanoUsd?: NanoUsd;
  /** Present if the key has a lifetime budget, or all spends were requested. */
  readonly spentInLifetimeNanoUsd?: NanoUsd;
}

/** Columns of `keys k` and of these joins. `$3`: today. `$4`: true if all spends are requested. */
export const DETAIL_COLUMNS = `
      ${nameForMembers('u', 'k.organization_id')} as creator, ${milliseconds('a.last_used_at')} as "lastUsedAtMs",
      a.last_address as "lastAddress", coalesce(s.spent_nano_usd, 0) as "spentTodayNanoUsd",
      case when $4 or k.monthly_budget_nano_usd is not null
        then key_month_spend(k.id, date '1970-01-01' + $3::integer) end as "spentThisMonthNanoUsd",
      case when $4 or k.lifetime_budget_nano_usd is not null then key_lifetime_spend(k.id) end as "spentInLifetimeNanoUsd"`;
export const DETAIL_JOINS = `
    left join users u on u.id = k.created_by
    left join key_activity a on a.key_id = k.id
    left join key_daily_spend s on s.key_id = k.id and s.day = date '1970-01-01' + $3::integer`;
export const SPENDS = ['spentTodayNanoUsd', 'spentThisMonthNanoUsd', 'spentInLifetimeNanoUsd'] as const;

const DETAILS = sql('key_details')`
  select ${DETAIL_COLUMNS} from keys k ${DETAIL_JOINS} where k.organization_id = $1 and k.id = $2`;

/** Monthly and lifetime spends read more rows, so the page gets only those with a budget. */
export async function keyDetails(
  pool: pg.Pool,
  organizationId: string,
  keyId: string,
  today: UtcDay,
): Promise<KeyDetails | undefined> {
  return (await records<KeyDetails>(pool, DETAILS, [organizationId, keyId, today, false], SPENDS))[0];
}
