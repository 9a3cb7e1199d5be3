import type { OrganizationLimits, OrganizationView, OwnSettings } from '#contract/organization.ts';
import { utcDay } from '#core/clock.ts';
import { present } from '#core/present.ts';
import { organizationMoney } from '#database/organizations/organization-reads.ts';
import type { OrganizationRecord } from '#database/organizations/organization-records.ts';
import { notFound, type Problem } from '../http/problem.ts';
import type { Deps } from '../http/route.ts';
import { balanceForecast } from './balance-forecast.ts';
import { limitsView } from './limits.ts';

/** An organization as its pages show it. */
export async function organizationView(deps: Deps, organizationId: string): Promise<OrganizationView | Problem> {
  const [record, money] = await Promise.all([
    deps.administration.organization(organizationId),
    organizationMoney(deps.database, organizationId, utcDay(deps.nowMs())),
  ]);
  if (record === undefined || money === undefined) return notFound('organization');
  // Where a card is charged in time, or every request is refused, it does not end.
  const ends = !money.topsUpItself && record.suspendedAtMs === undefined;
  return {
    id: record.id,
    name: record.name,
    createdAtMs: record.createdAtMs,
    ...present({ suspendedAtMs: record.suspendedAtMs }),
    balanceNanoUsd: money.balanceNanoUsd.toString(),
    heldNanoUsd: money.heldNanoUsd.toString(),
    totalCreditsNanoUsd: money.totalCreditsNanoUsd.toString(),
    totalUsageNanoUsd: money.totalUsageNanoUsd.toString(),
    spentTodayNanoUsd: money.spentTodayNanoUsd.toString(),
    limits: organizationLimits(record),
    ...present({ forecast: ends ? balanceForecast(money, record.createdAtMs, deps.nowMs()) : undefined }),
    ...present({ priceList: record.priceList }),
  };
}

function organizationLimits(record: OrganizationRecord): OrganizationLimits {
  const { limits, maxTokens, concurrency, allowMultipleCompletions } = record;
  return { ...limitsView(limits), ...present({ maxTokens }), concurrency, allowMultipleCompletions };
}

/** What its owners set. */
export function ownSettings(record: OrganizationRecord | undefined): OwnSettings | Problem {
  if (record === undefined) return notFound('organization');
  const { name, legalName, billingAddress, taxId, billingEmail } = record;
  return { name, ...present({ legalName, billingAddress, taxId, billingEmail }) };
}
