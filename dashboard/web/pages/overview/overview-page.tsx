import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { PageHeader } from '../../components/page-header.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { ErrorState } from '../../components/states.tsx';
import { SegmentedControl } from '../../forms/choices.tsx';
import { BalanceBanner } from '../../organizations/balance-banner.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { FailureCodes } from './failure-codes.tsx';
import { FirstSteps } from './first-steps.tsx';
import { OverviewCharts } from './overview-charts.tsx';
import { OverviewStats } from './overview-stats.tsx';
import { DEFAULT_GROUP, DEFAULT_RANGE, RANGES, withGroup, withRange } from './overview-url.ts';
import { type OverviewQuestion, useOverviewData } from './use-overview-data.ts';

const route = getRouteApi('/app/o/$organization/overview');
/** Loaded for operators only. */
const OperatorPanel = lazy(() =>
  import('../../organizations/operator-panel.tsx').then((module) => ({ default: module.OperatorPanel })),
);
const PANEL_HEIGHT = '60px';

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
      {/* The key remounts for another organization, so that figures of the former one are never
          shown. */}
      <OverviewOf key={id} id={id} range={range} by={by} />
    </>
  );
}

function OverviewOf({ id, range, by }: OverviewQuestion): ReactNode {
  const { role } = useOrganization();
  const { organization, overview, spentNanoUsd, firstSteps, failed } = useOverviewData({ id, range, by });
  if (failed?.error) return <ErrorState problem={failed.error} onRetry={() => void failed.refetch()} />;
  return (
    <>
      {organization && <BalanceBanner organization={organization} spentNanoUsd={spentNanoUsd} />}
      {role === 'operator' && (
        <Suspense fallback={<Skeleton height={PANEL_HEIGHT} />}>
          {organization ? <OperatorPanel organization={organization} /> : <Skeleton height={PANEL_HEIGHT} />}
        </Suspense>
      )}
      <OverviewStats organization={organization} overview={overview} />
      {firstSteps ? (
        <FirstSteps organization={id} hasKey={firstSteps.hasKey} />
      ) : (
        <>
          <OverviewCharts overview={overview} by={by} />
          {overview && <FailureCodes overview={overview} organization={id} />}
        </>
      )}
    </>
  );
}
