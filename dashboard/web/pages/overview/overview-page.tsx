import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { exploreSearchOfOne, requestsIn } from '#contract/explore-search.ts';
import { useAsk } from '../../api/queries.ts';
import { LinkButton } from '../../components/button.tsx';
import { loadedLater } from '../../components/loaded-later.tsx';
import { PageHeader, Skeleton, UnlessFailed } from '../../components/panels.tsx';
import { ExploreBar } from '../../explore/explore-bar.tsx';
import { Explorer } from '../../explore/explorer.tsx';
import { GroupsCsv, GroupTable } from '../../explore/group-table.tsx';
import { type ExploreQuery, useExplore } from '../../explore/use-explore.ts';
import { ViewsMenu } from '../../explore/views-menu.tsx';
import { BalanceBanner } from '../../organizations/balance-banner.tsx';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { BalanceStats } from './balance-stats.tsx';
import { FirstSteps } from './first-steps.tsx';
import styles from './overview.module.css';

/** Loaded for operators only. */
const PANEL_SKELETON = (
  <div className={styles.panel}>
    <Skeleton height="100%" />
  </div>
);
const OperatorPanel = loadedLater(
  () => import('../../organizations/operator-panel.tsx').then((module) => module.OperatorPanel),
  PANEL_SKELETON,
);

export function OverviewPage(): ReactNode {
  const { role } = useOrganization();
  const url = useUrl(exploreSearchOfOne);
  const navigate = useNavigate();
  const { by = 'model' } = url.search;
  const query = useExplore(url.search, by, 'cost');
  const { organization, firstSteps, failed } = useHomeData(query);
  const shown = organization ? query : { ...query, data: undefined };
  const requests = { from: '/o/$organization', to: '/o/$organization/requests' } as const;
  return (
    <>
      <PageHeader title="Overview" actions={<ViewsMenu page="overview" />} />
      <UnlessFailed query={failed ?? query}>
        {organization && <BalanceBanner organization={organization} />}
        {role === 'operator' && (organization ? <OperatorPanel organization={organization} /> : PANEL_SKELETON)}
        <BalanceStats organization={organization} />
        {firstSteps ? (
          <FirstSteps hasKey={firstSteps.hasKey} hasCredit={organization?.balanceNanoUsd !== '0'} />
        ) : (
          <>
            <ExploreBar url={url} by={by} actions={<GroupsCsv query={query} />} />
            <Explorer
              query={shown}
              url={url}
              usual="cost"
              onSpan={(span) => void navigate({ ...requests, search: requestsIn(url.search, span) })}
              actions={
                <LinkButton size="small" icon="requests" {...requests} search={url.search}>
                  Show requests
                </LinkButton>
              }
            />
            <GroupTable query={shown} by={by} url={url} />
          </>
        )}
      </UnlessFailed>
    </>
  );
}

const REFRESH_MS = 15_000;

function useHomeData(explore: ExploreQuery) {
  const refreshMs = REFRESH_MS;
  const organization = useAsk('GET /api/organizations/:organization', {}, { refreshMs });
  const isNew = organization.data?.totalUsageNanoUsd === '0' && explore.data?.totals.requests === 0;
  const keys = useAsk('GET /api/organizations/:organization/keys', {}, { enabled: isNew, refreshMs });
  const known = organization.data !== undefined && explore.data !== undefined;
  const isSettled = known && !(isNew && keys.isPending);
  const unused = isNew && keys.data?.keys.every(({ lastUsedAtMs }) => lastUsedAtMs === undefined);
  return {
    // Shown together with the banner and the first steps, so that nothing moves.
    organization: isSettled ? organization.data : undefined,
    // Present before the first request.
    firstSteps: unused ? { hasKey: keys.data?.keys.some(({ state }) => state === 'usable') ?? false } : undefined,
    // A failed query that the page needs.
    failed: [organization, explore].find(({ data, error }) => data === undefined && error !== null),
  };
}
