import type { UseQueryResult } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import type { OrganizationView, Overview, OverviewGroup, OverviewRange } from '#contract/organization.ts';
import type { ApiProblem } from '../../api/api.ts';
import { useAsk } from '../../api/queries.ts';
import { ErrorState, PageHeader, Skeleton } from '../../components/panels.tsx';
import { SegmentedControl } from '../../forms/choices.tsx';
import { BalanceBanner } from '../../organizations/balance-banner.tsx';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { overviewSearch } from '../searches.ts';
import { FirstSteps } from './first-steps.tsx';
import { FailureCodes, OverviewCharts } from './overview-charts.tsx';
import { OverviewStats } from './overview-stats.tsx';

/** Loaded for operators only. */
const OperatorPanel = lazy(() =>
  import('../../organizations/operator-panel.tsx').then((module) => ({ default: module.OperatorPanel })),
);
const PANEL_HEIGHT = '60px';

export function OverviewPage(): ReactNode {
  const { id } = useOrganization();
  const { search, change } = useUrl(overviewSearch);
  const { range = '7d', by = 'model' } = search;
  return (
    <>
      <PageHeader
        title="Overview"
        actions={
          <>
            <SegmentedControl
              label="Group by"
              value={by}
              onChange={(next) => change({ by: next })}
              choices={{ model: 'By model', key: 'By key' }}
            />
            <SegmentedControl
              label="Range"
              value={range}
              onChange={(next) => change({ range: next })}
              choices={{ '24h': '24 h', '7d': '7 d', '30d': '30 d' }}
            />
          </>
        }
      />
      {/* The key remounts for another organization, so that figures of the former one are never
          shown. */}
      <OverviewOf key={id} id={id} range={range} by={by} />
    </>
  );
}

function OverviewOf({ id, range, by }: OverviewQuestion): ReactNode {
  const { role } = useOrganization();
  const { organization, overview, firstSteps, failed } = useOverviewData({ id, range, by });
  if (failed?.error) return <ErrorState problem={failed.error} onRetry={() => void failed.refetch()} />;
  return (
    <>
      {organization && <BalanceBanner organization={organization} />}
      {role === 'operator' && (
        <Suspense fallback={<Skeleton height={PANEL_HEIGHT} />}>
          {organization ? <OperatorPanel organization={organization} /> : <Skeleton height={PANEL_HEIGHT} />}
        </Suspense>
      )}
      <OverviewStats organization={organization} overview={overview} />
      {firstSteps ? (
        <FirstSteps organization={id} hasKey={firstSteps.hasKey} hasCredit={organization?.balanceNanoUsd !== '0'} />
      ) : (
        <>
          <OverviewCharts overview={overview} by={by} />
          {overview && <FailureCodes overview={overview} organization={id} />}
        </>
      )}
    </>
  );
}

interface OverviewQuestion {
  readonly id: string;
  readonly range: OverviewRange;
  readonly by: OverviewGroup;
}

interface OverviewData {
  /**
   * Both absent while loading. They arrive together with the banner and first steps, so that
   * nothing moves.
   */
  readonly organization: OrganizationView | undefined;
  readonly overview: Overview | undefined;
  /** Present before the first request. */
  readonly firstSteps: { readonly hasKey: boolean } | undefined;
  /** The failed query without which the page cannot be shown. */
  readonly failed: Pick<UseQueryResult<unknown, ApiProblem>, 'error' | 'refetch'> | undefined;
}

const REFRESH_MS = 15_000;

function useOverviewData({ id, range, by }: OverviewQuestion): OverviewData {
  const params = { organization: id };
  const endpoint = 'GET /api/organizations/:organization/overview';
  const organization = useAsk('GET /api/organizations/:organization', { params }, { refreshMs: REFRESH_MS });
  const overview = useAsk(endpoint, { params, query: { range, by } }, { refreshMs: REFRESH_MS, keepPrevious: true });
  const isNew = organization.data?.totalUsageNanoUsd === '0' && overview.data !== undefined && isSilent(overview.data);
  const keys = useAsk(
    'GET /api/organizations/:organization/keys',
    { params },
    { enabled: isNew, refreshMs: REFRESH_MS },
  );
  const known = organization.data !== undefined && overview.data !== undefined;
  const isSettled = known && !(isNew && keys.isPending);
  const unused = isNew && keys.data?.keys.every(({ lastUsedAtMs }) => lastUsedAtMs === undefined);
  return {
    organization: isSettled ? organization.data : undefined,
    overview: isSettled ? overview.data : undefined,
    firstSteps: unused ? { hasKey: keys.data?.keys.some(({ state }) => state === 'usable') ?? false } : undefined,
    failed: [organization, overview].find(({ data, error }) => data === undefined && error !== null),
  };
}

/** True without requests in this and the preceding range. */
function isSilent({ totals, before }: Overview): boolean {
  return totals.requests + before.requests === 0;
}
