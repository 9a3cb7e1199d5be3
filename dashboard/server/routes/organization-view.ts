import { utcDay } from '../../../core/clock.ts';
import type { OrganizationRecord } from '../../../database/administration/administration.ts';
import { organizationMoney } from '../../../database/organizations/organization-reads.ts';
import type { OrganizationLimits, OrganizationView } from '../../contract/organization.ts';
import { notFound, type Problem } from '../http/problem.ts';
import type { Deps } from '../http/route.ts';

/** An organization as its pages show it. */
export async function organizationView(deps: Deps, organizationId: string): Promise<OrganizationView | Problem> {
  const [record, money] = await Promise.all([
    deps.administration.organization(organizationId),
    organizationMoney(deps.database, organizationId, utcDay(deps.nowMs())),
  ]);
  if (record === undefined || money === undefined) return notFound('organization');
  return {
    id: record.id,
    name: record.name,
    createdAtMs: record.createdAtMs,
    ...(record.suspendedAtMs === undefined ? {} : { suspendedAtMs: record.suspendedAtMs }),
    balanceNanoUsd: money.balanceNanoUsd.toString(),
    heldNanoUsd: money.heldNanoUsd.toString(),
    totalCreditsNanoUsd: money.totalCreditsNanoUsd.toString(),
    totalUsageNanoUsd: money.totalUsageNanoUsd.toString(),
    spentTodayNanoUsd: money.spentTodayNanoUsd.toString(),
    limits: limitsView(record),
  };
}

function limitsView({ limits, maxTokens, concurrency, allowMultipleCompletions }: OrganizationRecord) {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd } = limits;
  return {
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(dailyBudgetNanoUsd === undefined ? {} : { dailyBudgetNanoUsd: dailyBudgetNanoUsd.toString() }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    concurrency,
    allowMultipleCompletions,
  } satisfies OrganizationLimits;
}
