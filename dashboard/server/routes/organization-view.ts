import type { BalanceForecast, OrganizationView, OwnSettings } from '#contract/organization.ts';
import { ORGANIZATION_SETTINGS, OWN_SETTINGS } from '#contract/shown-settings.ts';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { present } from '#core/present.ts';
import { type OrganizationMoney, organizationMoney } from '#database/organizations/organization-reads.ts';
import type { OrganizationRecord } from '#database/organizations/organization-records.ts';
import { findOrganization } from '#database/organizations/organization-rows.ts';
import { notFound, type Problem } from '../http/problem.ts';
import type { Deps } from '../http/route.ts';
import { shownAmounts, shownSettings } from './amounts.ts';

export async function organizationView(deps: Deps, organizationId: string): Promise<OrganizationView | Problem> {
  const [record, money] = await Promise.all([
    findOrganization(deps.database, organizationId),
    organizationMoney(deps.database, organizationId, utcDay(deps.nowMs())),
  ]);
  if (record === undefined || money === undefined) return notFound('organization');
  const { id, createdAtMs, suspendedAtMs } = record;
  const { name, priceList, ...limits } = shownSettings(ORGANIZATION_SETTINGS, record);
  // If a card is charged in time, or every request is refused, the balance does not end.
  const ends = !money.topsUpItself && suspendedAtMs === undefined;
  const forecast = ends ? balanceForecast(money, createdAtMs, deps.nowMs()) : undefined;
  const { topsUpItself: _, spentWeekNanoUsd: _week, ...sums } = money;
  return {
    ...{ id, name, createdAtMs, limits },
    ...shownAmounts(sums),
    ...present({ suspendedAtMs, forecast, priceList }),
  };
}

/** Number of days for the mean: today and those before. */
const DAYS = 7;
/** No forecast beyond this, because it would be meaningless. */
const LONGEST_MS = 365 * DAY_MS;

/**
 * When the balance less holds ends at the mean rate of the last days, or since the organization was
 * created, but at least over a day. `undefined`: nothing is left, nothing was spent, or the end is
 * more than a year away.
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

/** Settings that owners change themselves. */
export function ownSettings(record: OrganizationRecord | undefined): OwnSettings | Problem {
  return record === undefined ? notFound('organization') : shownSettings(OWN_SETTINGS, record);
}
