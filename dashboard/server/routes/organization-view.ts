import type { OrganizationLimits, OrganizationView, OwnSettings } from '#contract/organization.ts';
import { utcDay } from '#core/clock.ts';
import { present } from '#core/present.ts';
import { organizationMoney } from '#database/organizations/organization-reads.ts';
import type { OrganizationRecord } from '#database/organizations/organization-records.ts';
import { notFound, type Problem } from '../http/problem.ts';
import type { Deps } from '../http/route.ts';
import { shownAmounts } from './amounts.ts';
import { balanceForecast } from './balance-forecast.ts';

export async function organizationView(deps: Deps, organizationId: string): Promise<OrganizationView | Problem> {
  const [record, money] = await Promise.all([
    deps.administration.organization(organizationId),
    organizationMoney(deps.database, organizationId, utcDay(deps.nowMs())),
  ]);
  if (record === undefined || money === undefined) return notFound('organization');
  const { id, name, createdAtMs, suspendedAtMs, priceList } = record;
  // Where a card is charged in time, or every request is refused, it does not end.
  const ends = !money.topsUpItself && suspendedAtMs === undefined;
  const forecast = ends ? balanceForecast(money, createdAtMs, deps.nowMs()) : undefined;
  const { topsUpItself: _, spentWeekNanoUsd: _week, ...sums } = money;
  return {
    ...{ id, name, createdAtMs, limits: organizationLimits(record) },
    ...shownAmounts(sums),
    ...present({ suspendedAtMs, forecast, priceList }),
  };
}

function organizationLimits(record: OrganizationRecord): OrganizationLimits {
  const { limits, maxTokens, concurrency, allowMultipleCompletions } = record;
  return { ...shownAmounts(limits), ...present({ maxTokens }), concurrency, allowMultipleCompletions };
}

/** What its owners set. */
export function ownSettings(record: OrganizationRecord | undefined): OwnSettings | Problem {
  if (record === undefined) return notFound('organization');
  const { name, legalName, billingAddress, taxId, billingEmail } = record;
  return { name, ...present({ legalName, billingAddress, taxId, billingEmail }) };
}
