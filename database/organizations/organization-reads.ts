import type pg from 'pg';
import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import { records, sql } from '../connection/connection-pool.ts';
import { heldNow } from '../process-reports/process-reports.ts';

export interface OrganizationMoney {
  readonly balanceNanoUsd: NanoUsd;
  readonly totalCreditsNanoUsd: NanoUsd;
  readonly totalUsageNanoUsd: NanoUsd;
  readonly spentTodayNanoUsd: NanoUsd;
  /** Spend of today and the six days before. */
  readonly spentWeekNanoUsd: NanoUsd;
  /** True if a saved card is charged before the balance runs out. */
  readonly topsUpItself: boolean;
  /**
   * Holds for requests in flight, from reports at most two seconds old, and what undecided dead
   * letters owe.
   */
  readonly heldNanoUsd: NanoUsd;
}

const MONEY = sql('organization_money')`
  select a.balance_nano_usd as "balanceNanoUsd", a.total_credits_nano_usd as "totalCreditsNanoUsd",
      a.total_usage_nano_usd as "totalUsageNanoUsd",
      a.dead_letters_nano_usd as "deadLettersNanoUsd", coalesce(s.spent_nano_usd, 0) as "spentTodayNanoUsd",
      (select coalesce(sum(w.spent_nano_usd), 0) from organization_daily_spend w where w.organization_id = a.organization_id
        and w.day between date '1970-01-01' + $2::integer - 6 and date '1970-01-01' + $2::integer) as "spentWeekNanoUsd",
      exists (select from payment_accounts p where p.organization_id = a.organization_id and p.automatic and p.stopped_at is null)
        as "topsUpItself"
    from accounts a
    left join organization_daily_spend s on s.organization_id = a.organization_id and s.day = date '1970-01-01' + $2::integer
    where a.organization_id = $1`;
type Booked = Omit<OrganizationMoney, 'heldNanoUsd'> & { readonly deadLettersNanoUsd: NanoUsd };
const TOTALS = ['balanceNanoUsd', 'totalCreditsNanoUsd', 'totalUsageNanoUsd', 'deadLettersNanoUsd'] as const;
const SPENDS = ['spentTodayNanoUsd', 'spentWeekNanoUsd'] as const;

/** `undefined`: there is no such organization. */
export async function organizationMoney(
  pool: pg.Pool,
  organizationId: string,
  today: UtcDay,
): Promise<OrganizationMoney | undefined> {
  const [[booked], heldNanoUsd] = await Promise.all([
    records<Booked>(pool, MONEY, [organizationId, today], [...TOTALS, ...SPENDS]),
    heldNow(pool, organizationId),
  ]);
  if (booked === undefined) return undefined;
  const { deadLettersNanoUsd, ...sums } = booked;
  return { ...sums, heldNanoUsd: heldNanoUsd + deadLettersNanoUsd };
}
