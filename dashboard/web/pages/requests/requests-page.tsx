import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { countOf } from '#core/count-of.ts';
import { Banner } from '../../components/banner.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { CsvLink } from '../../table/csv-link.tsx';
import { PagedList, SearchFurther } from '../../table/load-more.tsx';
import { FollowSwitch, NewRequests } from './follow-requests.tsx';
import { RequestDrawer } from './request-drawer.tsx';
import { CodeNote } from './request-error.tsx';
import { RequestsFilters } from './requests-filters.tsx';
import { NoRequests, OmittedNote } from './requests-notes.tsx';
import { RequestsTable } from './requests-table.tsx';
import type { RequestsUrlState } from './requests-url.ts';
import { canFollow, hasRequestFilter, requestFilter } from './requests-url.ts';
import { useRequestLog, useScrolledDown } from './use-request-log.ts';

const TOP_PX = 240;

export function RequestsPage(): ReactNode {
  const { id } = useOrganization();
  // The key remounts for another organization, so that its requests never mix.
  return <RequestsOf key={id} organization={id} />;
}

function RequestsOf({ organization }: { readonly organization: string }): ReactNode {
  const search = useSearch({ from: '/app/o/$organization/requests' });
  const navigate = useNavigate({ from: '/o/$organization/requests' });
  const [paused, setPaused] = useState(false);
  const { open, ...filters } = search;
  const filterText = JSON.stringify(filters);
  // Without the drawer, so that opening it keeps the list.
  const filter = useMemo(() => requestFilter(JSON.parse(filterText) as RequestsUrlState, Date.now()), [filterText]);
  const scrolledDown = useScrolledDown(TOP_PX);
  const log = useRequestLog(organization, filter, { following: canFollow(search) && !paused, holding: scrolledDown });
  const go = (next: RequestsUrlState, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: false });
  const onFilter = (next: RequestsUrlState) => go({ ...next, open: undefined }, true);
  const { pages, rows } = log;
  return (
    <>
      <PageHeader
        title="Requests"
        description="Requests with the organization’s keys, refused ones included."
        actions={
          <>
            {canFollow(search) && <FollowSwitch paused={paused} onChange={setPaused} />}
            <CsvLink organization={organization} table="requests" query={{ ...filter }} />
          </>
        }
      />
      <RequestsFilters organization={organization} search={search} onChange={onFilter} />
      <span className="visually-hidden" role="status">
        {foundLabel(log.pages)}
      </span>
      {search.code !== undefined && search.search === undefined && <CodeNote code={search.code} />}
      <PagedList pages={pages} count={rows?.length} nouns={['request', 'requests']} label="Load older">
        <OmittedNote count={pages.data?.pages[0]?.leftOut ?? 0} />
        <RequestsTable
          rows={rows}
          isNew={log.isNew}
          openId={open}
          stale={pages.isPlaceholderData}
          onOpen={({ id }) => go({ open: id }, open !== undefined)}
          empty={
            <SearchFurther pages={pages} what="request">
              <NoRequests organization={organization} search={search} filtered={hasRequestFilter(search)} />
            </SearchFurther>
          }
        />
        {rows && rows.length > 0 && pages.isFetchNextPageError && <Banner tone="bad">{pages.error?.message}</Banner>}
      </PagedList>
      <NewRequests count={log.waiting} more={log.waitingMore} onShow={log.show} />
      <RequestDrawer
        organization={organization}
        id={open}
        rows={rows}
        onOpen={(id) => go({ open: id }, true)}
        onClose={() => go({ open: undefined }, true)}
      />
    </>
  );
}

/** Announced when a filter has been applied, not for each new request. */
function foundLabel({ data, hasNextPage, isPlaceholderData }: ReturnType<typeof useRequestLog>['pages']): string {
  if (data === undefined || isPlaceholderData) return '';
  const count = data.pages.reduce((sum, { requests }) => sum + requests.length, 0);
  return `${countOf(count, 'request')}${hasNextPage ? ', and there are older ones' : ''}`;
}
