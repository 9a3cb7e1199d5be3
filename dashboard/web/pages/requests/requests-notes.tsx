import type { ReactNode } from 'react';
import type { RequestPage } from '../../../contract/request-log.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { Banner } from '../../components/banner.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Instant } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatCount } from '../../format/format-number.ts';
import { LoadMore, SearchFurther } from '../../table/load-more.tsx';
import type { RequestsUrlState } from './requests-url.ts';

export interface NoRequestsProps {
  readonly organization: string;
  readonly search: RequestsUrlState;
  readonly filtered: boolean;
  readonly pages: RequestPages;
}

export function NoRequests({ organization, search, filtered, pages }: NoRequestsProps): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  if (search.search !== undefined) {
    return (
      <EmptyState icon="search" title="No request has this id">
        Paste the whole x-request-id of a response, or a generation id, which begins with gen-. Requests are kept for a
        limited time.
      </EmptyState>
    );
  }
  if (searchedToMs !== undefined && pages.hasNextPage) {
    return (
      <SearchFurther
        what="request"
        searchedToMs={searchedToMs}
        busy={pages.isFetchingNextPage}
        onFurther={() => void pages.fetchNextPage()}
      />
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

export interface RequestPages {
  readonly data: { readonly pages: readonly RequestPage[] } | undefined;
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly isFetchNextPageError: boolean;
  readonly error: ApiProblem | null;
  readonly fetchNextPage: () => Promise<unknown>;
}

/**
 * Loads older requests. A filter with few matches is searched in steps, and the text says how far.
 */
export function OlderRequests({ pages, shown }: { readonly pages: RequestPages; readonly shown: number }): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  if (shown === 0) return null;
  return (
    <>
      {pages.isFetchNextPageError && pages.error && <Banner tone="bad">{pages.error.message}</Banner>}
      <LoadMore
        hasMore={pages.hasNextPage}
        busy={pages.isFetchingNextPage}
        onLoad={() => void pages.fetchNextPage()}
        label={searchedToMs === undefined ? 'Load older' : 'Search further back'}
        shown={
          <>
            {formatCount(shown)} {shown === 1 ? 'request' : 'requests'}
            {searchedToMs !== undefined && (
              <>
                {' '}
                since <Instant atMs={searchedToMs} />
              </>
            )}
          </>
        }
      />
    </>
  );
}

/** The number of omitted requests. */
export function OmittedNote({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null;
  return (
    <Banner tone="neutral">
      {formatCount(count)} refused {count === 1 ? 'request is' : 'requests are'} not listed. The list has at most 100
      refused requests of a key in a minute, and 10 once the key is revoked or expired or the organization suspended.
      All of them count in the overview and under Errors.
    </Banner>
  );
}
