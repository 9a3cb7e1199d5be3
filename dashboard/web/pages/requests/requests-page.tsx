import { type ReactNode, useMemo, useState } from 'react';
import { useConnectionLost } from '../../api/connection.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { Banner, EmptyState } from '../../components/panels.tsx';
import { StatusPill } from '../../components/values.tsx';
import { formatCount } from '../../format/format.ts';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { CsvLink, ListPage } from '../../table/list-page.tsx';
import { type RequestsState, requestsSearch } from '../searches.ts';
import { useLogLook } from './request-columns.tsx';
import { CodeNote, RequestDrawer } from './request-drawer.tsx';
import { canFollow, requestFilter } from './request-filter.ts';
import styles from './requests.module.css';
import { RequestsFilters } from './requests-filters.tsx';
import { useRequestLog, useScrolledDown } from './use-request-log.ts';

const TOP_PX = 240;

export function RequestsPage(): ReactNode {
  const { id } = useOrganization();
  // The key remounts for another organization, so that its requests never mix.
  return <RequestsOf key={id} organization={id} />;
}

function RequestsOf({ organization }: { readonly organization: string }): ReactNode {
  const { search, change, isFiltered } = useUrl(requestsSearch);
  const [paused, setPaused] = useState(false);
  const { open, ...filters } = search;
  const filterText = JSON.stringify(filters);
  // Without the drawer, so that opening it keeps the list.
  const filter = useMemo(() => requestFilter(JSON.parse(filterText) as RequestsState, Date.now()), [filterText]);
  const scrolledDown = useScrolledDown(TOP_PX);
  const lost = useConnectionLost();
  const following = canFollow(search) && !paused && !lost;
  const log = useRequestLog(organization, filter, { following, holding: scrolledDown });
  const look = useLogLook();
  const onFilter = (next: RequestsState) => change({ ...next, open: undefined });
  const { pages, rows } = log;
  return (
    <ListPage
      title="Requests"
      description="Requests with the organization’s keys, refused ones included."
      actions={
        <>
          {canFollow(search) && <FollowSwitch paused={paused} lost={lost} onChange={setPaused} />}
          {look.menu}
          <CsvLink organization={organization} table="requests" query={{ ...filter }} />
        </>
      }
      url={{ isFiltered, clear: () => onFilter(requestsSearch.unfiltered) }}
      filters={<RequestsFilters organization={organization} search={search} onChange={onFilter} />}
      query={pages}
      note={
        <>
          {search.code !== undefined && search.search === undefined && <CodeNote code={search.code} />}
          <OmittedNote count={pages.data?.pages[0]?.leftOut ?? 0} />
        </>
      }
      nouns={['request', 'requests']}
      more="Load older"
      // Announced when a filter has been applied, not for each new request.
      found={pages.data?.pages.reduce((sum, { requests }) => sum + requests.length, 0)}
      caption="Requests, newest first"
      columns={look.columns}
      rows={rows}
      density={look.density}
      isNew={log.isNew}
      openKey={open}
      onOpen={({ id }) => change({ open: id }, open === undefined ? 'step' : undefined)}
      skeletonRows={14}
      noMatch={false}
      empty={<NoRequests organization={organization} search={search} filtered={isFiltered} />}
    >
      <NewRequests count={log.waiting} more={log.waitingMore} onShow={log.show} />
      <RequestDrawer
        organization={organization}
        id={open}
        rows={rows}
        onOpen={(id) => change({ open: id })}
        onClose={() => change({ open: undefined })}
      />
    </ListPage>
  );
}

interface FollowSwitchProps {
  readonly paused: boolean;
  /** The server cannot be reached, so nothing new is seen. */
  readonly lost: boolean;
  readonly onChange: (paused: boolean) => void;
}

/** Switches the automatic update of the list. */
function FollowSwitch({ paused, lost, onChange }: FollowSwitchProps): ReactNode {
  return (
    <span className="row">
      <StatusPill tone={lost ? 'warn' : paused ? 'neutral' : 'good'}>
        {lost ? 'No connection' : paused ? 'Paused' : 'Live'}
      </StatusPill>
      <Button tone="quiet" icon={paused ? 'play' : 'pause'} onClick={() => onChange(!paused)}>
        {paused ? 'Resume' : 'Pause'}
      </Button>
    </span>
  );
}

interface NewRequestsProps {
  /** Number of requests that wait until the reader is at the top. */
  readonly count: number;
  /** True if there are more than `count`. */
  readonly more: boolean;
  readonly onShow: () => void;
}

/** Shows how many requests are new while the user reads further down, where rows must not move. */
function NewRequests({ count, more, onShow }: NewRequestsProps): ReactNode {
  const show = () => {
    onShow();
    window.scrollTo({ top: 0 });
    // The button disappears.
    document.querySelector('h1')?.focus({ preventScroll: true });
  };
  return (
    <div className={styles.arrived} role="status">
      {count > 0 && (
        <Button tone="primary" icon="chevronUp" onClick={show}>
          {`${count}${more ? '+' : ''} new ${count === 1 && !more ? 'request' : 'requests'}`}
        </Button>
      )}
    </div>
  );
}

interface NoRequestsProps {
  readonly organization: string;
  readonly search: RequestsState;
  readonly filtered: boolean;
}

function NoRequests({ organization, search, filtered }: NoRequestsProps): ReactNode {
  if (search.search !== undefined) {
    return (
      <EmptyState icon="search" title="No request has this id">
        Paste the whole x-request-id of a response, or a generation id, which begins with gen-. Requests are kept for a
        limited time.
      </EmptyState>
    );
  }
  if (filtered) {
    return (
      <EmptyState icon="filter" title="No request matches these filters">
        Choose a longer time, or take a filter away.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="requests"
      title="No requests yet"
      action={
        <LinkButton to="/o/$organization/keys" params={{ organization }} icon="key">
          API keys
        </LinkButton>
      }
    >
      Create a key and send a first request: it appears here within a second.
    </EmptyState>
  );
}

/** The number of omitted requests. */
function OmittedNote({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null;
  return (
    <Banner tone="neutral">
      {formatCount(count)} refused {count === 1 ? 'request is' : 'requests are'} not listed. The list has at most 100
      refused requests of a key in a minute, and 10 once the key is revoked or expired or the organization suspended.
      All of them count in the overview and under Errors.
    </Banner>
  );
}
