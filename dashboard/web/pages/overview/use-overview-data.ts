import type { UseQueryResult } from '@tanstack/react-query';
import type { OrganizationView, Overview, OverviewGroup, OverviewRange } from '#contract/organization.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { useAsk } from '../../api/use-ask.ts';

export interface OverviewQuestion {
  readonly id: string;
  readonly range: OverviewRange;
  readonly by: OverviewGroup;
}

export interface OverviewData {
  /**
   * Both absent while loading. They arrive together with the banner and first steps, so that
   * nothing moves.
   */
  readonly organization: OrganizationView | undefined;
  readonly overview: Overview | undefined;
  /** Spend of the last seven days. Absent if it cannot be loaded. */
  readonly spentNanoUsd: string | undefined;
  /** Present before the first request. */
  readonly firstSteps: { readonly hasKey: boolean } | undefined;
  /** The failed query without which the page cannot be shown. */
  readonly failed: Pick<UseQueryResult<unknown, ApiProblem>, 'error' | 'refetch'> | undefined;
}

const REFRESH_MS = 15_000;
/** Daily averages change slowly. */
const AVERAGE_REFRESH_MS = 5 * 60_000;

export function useOverviewData({ id, range, by }: OverviewQuestion): OverviewData {
  const params = { organization: id };
  const endpoint = 'GET /api/organizations/:organization/overview';
  const organization = useAsk('GET /api/organizations/:organization', { params }, { refreshMs: REFRESH_MS });
  const overview = useAsk(endpoint, { params, query: { range, by } }, { refreshMs: REFRESH_MS, keepPrevious: true });
  const week = useAsk(endpoint, { params, query: { range: '7d', by: 'model' } }, { refreshMs: AVERAGE_REFRESH_MS });
  const isNew = organization.data?.totalUsageNanoUsd === '0' && overview.data !== undefined && isSilent(overview.data);
  const keys = useAsk(
    'GET /api/organizations/:organization/keys',
    { params },
    { enabled: isNew, refreshMs: REFRESH_MS },
  );
  const known = organization.data !== undefined && overview.data !== undefined;
  const isSettled = known && !week.isPending && !(isNew && keys.isPending);
  const unused = isNew && keys.data?.keys.every(({ lastUsedAtMs }) => lastUsedAtMs === undefined);
  return {
    organization: isSettled ? organization.data : undefined,
    overview: isSettled ? overview.data : undefined,
    spentNanoUsd: week.data?.totals.costNanoUsd,
    firstSteps: unused ? { hasKey: keys.data?.keys.some(({ state }) => state === 'usable') ?? false } : undefined,
    failed: [organization, overview].find(({ data, error }) => data === undefined && error !== null),
  };
}

/** True without requests in this and the preceding range. */
function isSilent({ totals, before }: Overview): boolean {
  return totals.requests + before.requests === 0;
}
