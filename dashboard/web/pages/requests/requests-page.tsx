import { type ReactNode, useState } from 'react';
import { type ExploreState, exploreSearchOfOne, requestsIn } from '#contract/explore-search.ts';
import type { RequestFilter, RequestPage } from '#contract/request-log.ts';
import { useConnectionLost } from '../../api/connection.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { Banner, EmptyState, PageHeader } from '../../components/panels.tsx';
import { Instant, StatusPill } from '../../components/values.tsx';
import { ExploreBar } from '../../explore/explore-bar.tsx';
import { Explorer } from '../../explore/explorer.tsx';
import { useExplore } from '../../explore/use-explore.ts';
import { ViewsMenu } from '../../explore/views-menu.tsx';
import { formatCount } from '../../format/format.ts';
import { SearchBox } from '../../forms/filter-bar.tsx';
import { type Url, useOnDay, useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { CsvLink, List } from '../../table/list-page.tsx';
import { canFollow, filterTextOf, listFilter } from './list-filter.ts';
import { useLogLook } from './request-columns.tsx';
import { CodeNote, RequestDrawer } from './request-drawer.tsx';
import styles from './requests.module.css';
import { useRequestLog, useScrolledDown } from './use-request-log.ts';

const TOP_PX = 240;
/** With a single key, users want to see from where it is used. */
const WITH_ADDRESS = ['address'];
const NOTHING: readonly string[] = [];

export function RequestsPage(): ReactNode {
  const url = useUrl(exploreSearchOfOne);
  const { search, change } = url;
  const { by = 'status' } = search;
  const [paused, setPaused] = useState(false);
  // The text excludes the drawer and the chart, whose changes keep the list.
  const filter = useOnDay((nowMs) => listFilter(search, nowMs), filterTextOf(search));
  const query = useExplore(search, by, 'requests');
  const lost = useConnectionLost();
  const look = useLogLook(search.key?.length === 1 ? WITH_ADDRESS : NOTHING);
  return (
    <>
      <PageHeader
        title="Requests"
        help="api.html#response-headers"
        description="Every request made with the organization’s keys, including refused ones."
        actions={
          <>
            {canFollow(search) && <FollowSwitch paused={paused} lost={lost} onChange={setPaused} />}
            {look.menu}
            <ViewsMenu page="requests" />
          </>
        }
      />
      <ExploreBar url={url} by={by} actions={<CsvLink table="requests" query={{ ...filter }} />}>
        <SearchBox
          label="Request or generation id"
          value={search.search}
          onSearch={(text) => change({ ...exploreSearchOfOne.unfiltered, search: text, open: undefined })}
        />
      </ExploreBar>
      {search.search === undefined && (
        <Explorer
          query={query}
          url={url}
          usual="requests"
          heightPx={140}
          onSpan={(span) => change(requestsIn(search, span), 'step')}
        />
      )}
      <LogList url={url} filter={filter} following={canFollow(search) && !paused && !lost} look={look} />
    </>
  );
}

interface LogListProps {
  readonly url: Url<ExploreState>;
  readonly filter: RequestFilter;
  readonly following: boolean;
  readonly look: ReturnType<typeof useLogLook>;
}

/** The list. It follows the log while the reader is at its top. */
function LogList({ url, filter, following, look }: LogListProps): ReactNode {
  const { id: organization } = useOrganization();
  const { search, change } = url;
  const scrolledDown = useScrolledDown(TOP_PX);
  const log = useRequestLog(organization, filter, { following, holding: scrolledDown });
  const { pages, rows } = log;
  const [code] = search.code ?? [];
  return (
    <>
      <List
        query={pages}
        note={
          <>
            {code !== undefined && search.code?.length === 1 && <CodeNote code={code} />}
            {pages.data?.pages[0] && <OmittedNote {...pages.data.pages[0]} />}
          </>
        }
        nouns={['request', 'requests']}
        more="Load older"
        // Announced when a filter was applied, but not for each new request.
        found={pages.data?.pages.reduce((sum, { requests }) => sum + requests.length, 0)}
        caption="Requests, newest first"
        columns={look.columns}
        rows={rows}
        density={look.density}
        isNew={log.isNew}
        openKey={search.open}
        onOpen={({ id }) => change({ open: id }, search.open === undefined ? 'step' : undefined)}
        skeletonRows={14}
        empty={<NoRequests url={url} />}
      />
      <NewRequests log={log} />
      <RequestDrawer
        id={search.open}
        rows={rows}
        onOpen={(id) => change({ open: id })}
        onClose={() => change({ open: undefined })}
      />
    </>
  );
}

interface FollowSwitchProps {
  readonly paused: boolean;
  /** True if the server cannot be reached, so that no new requests arrive. */
  readonly lost: boolean;
  readonly onChange: (paused: boolean) => void;
}

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

/** Shows the number of new requests while the user reads further down, where rows must not move. */
function NewRequests({ log }: { readonly log: ReturnType<typeof useRequestLog> }): ReactNode {
  const { waiting: count, waitingMore: more } = log;
  const show = () => {
    log.show();
    window.scrollTo({ top: 0 });
    // Moves the focus, because the button disappears.
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

function NoRequests({ url }: Pick<LogListProps, 'url'>): ReactNode {
  if (url.search.search !== undefined) {
    return (
      <EmptyState icon="search" title="No request has this id">
        Paste the whole x-request-id of a response, or a generation id, which begins with gen-. Requests are kept for a
        limited time.
      </EmptyState>
    );
  }
  if (url.isFiltered) {
    return (
      <EmptyState icon="filter" title="No matching requests">
        Choose a longer time or remove a filter.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="requests"
      title="No requests yet in this range"
      action={
        <LinkButton from="/o/$organization" to="/o/$organization/keys" icon="key">
          API keys
        </LinkButton>
      }
    >
      Choose a longer time, or send a request. It appears here within a second.
    </EmptyState>
  );
}

function OmittedNote({ leftOut: count, leftOutSinceMs }: RequestPage): ReactNode {
  if (count === 0 && leftOutSinceMs === undefined) return null;
  return (
    <Banner tone="neutral">
      {leftOutSinceMs !== undefined && (
        <>
          Since <Instant atMs={leftOutSinceMs} />, at least{' '}
        </>
      )}
      {formatCount(count)} refused {count === 1 ? 'request is' : 'requests are'} not listed. The list has at most 100
      refused requests of a key and 300 of an organization in a minute, and a tenth of these where the key is revoked or
      expired or the organization suspended. All of them count in the overview and under Errors.
    </Banner>
  );
}
