import type { ReactNode } from 'react';
import { exploreSearch, requestsIn } from '#contract/explore-search.ts';
import { PageHeader } from '../../components/panels.tsx';
import { ExploreBar } from '../../explore/explore-bar.tsx';
import { Explorer } from '../../explore/explorer.tsx';
import { GroupsCsv, GroupTable } from '../../explore/group-table.tsx';
import { useExplore } from '../../explore/use-explore.ts';
import { ViewsMenu } from '../../explore/views-menu.tsx';
import { useUrl } from '../../search/use-url.ts';

/** The explorer over all organizations: revenue, margin, low balances, failing providers. */
export function OperatorHomePage(): ReactNode {
  const url = useUrl(exploreSearch);
  const { by = 'organization' } = url.search;
  const query = useExplore(url.search, by, 'cost');
  return (
    <>
      <PageHeader
        title="All organizations"
        description="Spend, margin and errors across all customers."
        actions={<ViewsMenu page="overview" />}
      />
      <ExploreBar url={url} by={by} actions={<GroupsCsv query={query} />} />
      <Explorer
        query={query}
        url={url}
        usual="cost"
        onSpan={(span) => url.change(requestsIn(url.search, span), 'step')}
      />
      <GroupTable query={query} by={by} url={url} />
    </>
  );
}
