import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { ErrorState } from '../../components/error-state.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { SegmentedControl } from '../../components/radio-group.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { BalanceBanner } from './balance-banner.tsx';
import { FailureCodes } from './failure-codes.tsx';
import { FirstSteps } from './first-steps.tsx';
import { OverviewCharts } from './overview-charts.tsx';
import { DEFAULT_GROUP, DEFAULT_RANGE, RANGES, withGroup, withRange } from './overview-search.ts';
import { OverviewStats } from './overview-stats.tsx';

const route = getRouteApi('/app/o/$organization/overview');
const REFRESH_MS = 15_000;
/** An average of days changes slowly. */
const AVERAGE_REFRESH_MS = 5 * 60_000;

export function OverviewPage(): ReactNode {
  const { id } = useOrganization();
  const { range = DEFAULT_RANGE, by = DEFAULT_GROUP } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title="Overview"
        actions={
          <>
            <SegmentedControl
              label="Group by"
              value={by}
              onChange={(next) => void navigate({ search: (now) => withGroup(now, next), replace: true })}
              choices={[
                { value: 'model', label: 'By model' },
                { value: 'key', label: 'By key' },
              ]}
            />
            <SegmentedControl
              label="Range"
              value={range}
              onChange={(next) => void navigate({ search: (now) => withRange(now, next), replace: true })}
              choices={RANGES}
            />
          </>
        }
      />
      {/* With a key, so that nothing of another organization is shown while this one's figures come. */}
      <OverviewOf key={id} id={id} range={range} by={by} />
    </>
  );
}

interface OverviewOfProps {
  readonly id: string;
  readonly range: '24h' | '7d' | '30d';
  readonly by: 'model' | 'key';
}

function OverviewOf({ id, range, by }: OverviewOfProps): ReactNode {
  const params = { organization: id };
  const organization = useAsk('GET /api/organizations/:organization', { params }, { refreshMs: REFRESH_MS });
  const overview = useAsk(
    'GET /api/organizations/:organization/overview',
    { params, query: { range, by } },
    { refreshMs: REFRESH_MS, keepPrevious: true },
  );
  const week = useAsk(
    'GET /api/organizations/:organization/overview',
    { params, query: { range: '7d', by: 'model' } },
    { refreshMs: AVERAGE_REFRESH_MS },
  );
  const seen =
    overview.data === undefined || hasRequests(overview.data) || organization.data?.totalUsageNanoUsd !== '0';
  const keys = useAsk(
    'GET /api/organizations/:organization/keys',
    { params },
    { enabled: !seen, refreshMs: REFRESH_MS },
  );
  const isNew = !seen && keys.data?.keys.every(({ lastUsedAtMs }) => lastUsedAtMs === undefined);

  const failed = [organization, overview].find(({ data, error }) => data === undefined && error !== null);
  if (failed?.error) return <ErrorState problem={failed.error} onRetry={() => void failed.refetch()} />;
  // While it is not known whether there is a key, neither charts nor first steps are right.
  const shown = !seen && keys.isPending ? undefined : overview.data;
  return (
    <>
      {organization.data && (
        <BalanceBanner organization={organization.data} spentNanoUsd={week.data?.totals.costNanoUsd} />
      )}
      <OverviewStats organization={organization.data} overview={overview.data} />
      {isNew ? (
        <FirstSteps organization={id} hasKey={keys.data?.keys.some(({ state }) => state === 'usable') ?? false} />
      ) : (
        <>
          <OverviewCharts overview={shown} by={by} />
          {shown && <FailureCodes overview={shown} organization={id} />}
        </>
      )}
    </>
  );
}

function hasRequests({ totals, before }: { totals: { requests: number }; before: { requests: number } }): boolean {
  return totals.requests + before.requests > 0;
}
