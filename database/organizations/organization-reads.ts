import type pg from 'pg';
import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { run, type Statement } from '../connection/connection-pool.ts';
import { heldNow } from '../process-reports/process-reports.ts';

/** The money of an organization as it is now. */
export interface OrganizationMoney {
  readonly balanceNanoUsd: NanoUsd;
  readonly totalCreditsNanoUsd: NanoUsd;
  readonly totalUsageNanoUsd: NanoUsd;
  readonly spentTodayNanoUsd: NanoUsd;
  /** Holds of the gateway processes for requests in flight, up to two seconds old. */
  readonly heldNanoUsd: NanoUsd;
}

const MONEY: Statement = {
  name: 'organization_money',
  text: `select a.balance_nano_usd, a.total_credits_nano_usd, a.total_usage_nano_usd, coalesce(s.spent_nano_usd, 0) as spent
    from accounts a
    left join organization_daily_spend s on s.organization_id = a.organization_id and s.day = date '1970-01-01' + $2::integer
    where a.organization_id = $1`,
};

type MoneyRow = Record<'balance_nano_usd' | 'total_credits_nano_usd' | 'total_usage_nano_usd' | 'spent', string>;

/** `undefined`: there is no such organization. */
export async function organizationMoney(
  pool: pg.Pool,
  organizationId: string,
  today: UtcDay,
): Promise<OrganizationMoney | undefined> {
  const [[row], held] = await Promise.all([
    run<MoneyRow>(pool, MONEY, [organizationId, today]),
    heldNow(pool, organizationId),
  ]);
  return (
    row && {
      balanceNanoUsd: BigInt(row.balance_nano_usd),
      totalCreditsNanoUsd: BigInt(row.total_credits_nano_usd),
      totalUsageNanoUsd: BigInt(row.total_usage_nano_usd),
      spentTodayNanoUsd: BigInt(row.spent),
      heldNanoUsd: held.heldNanoUsd,
    }
  );
}
