import type { BalanceForecast } from '#contract/organization.ts';
import { DAY_MS, utcDay } from '#core/clock.ts';
import type { OrganizationMoney } from '#database/organizations/organization-reads.ts';

/** Days of the mean: this one and those before it. */
const DAYS = 7;
/** A later end says nothing. */
const LONGEST_MS = 365 * DAY_MS;

/**
 * When the balance less holds ends at the mean rate of the last days, or since the organization was
 * made, over a day at least. `undefined`: nothing is left or spent, or the end is a year away.
 */
export function balanceForecast(
  { balanceNanoUsd, heldNanoUsd, spentWeekNanoUsd }: OrganizationMoney,
  createdAtMs: number,
  nowMs: number,
): BalanceForecast | undefined {
  const fromMs = Math.max((utcDay(nowMs) - DAYS + 1) * DAY_MS, createdAtMs);
  const lengthMs = Math.max(nowMs - fromMs, DAY_MS);
  const averageDay = (spentWeekNanoUsd * BigInt(DAY_MS)) / BigInt(Math.round(lengthMs));
  const available = balanceNanoUsd - heldNanoUsd;
  if (available <= 0n || averageDay <= 0n) return undefined;
  const lastsMs = Number((available * BigInt(DAY_MS)) / averageDay);
  return lastsMs > LONGEST_MS ? undefined : { averageDayNanoUsd: averageDay.toString(), endsAtMs: nowMs + lastsMs };
}
