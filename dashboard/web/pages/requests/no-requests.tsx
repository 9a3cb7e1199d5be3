import type { ReactNode } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { LinkButton } from '../../components/link-button.tsx';
import { SearchFurther } from '../../table/search-further.tsx';
import type { RequestPages } from './older-requests.tsx';
import type { RequestsSearch } from './requests-search.ts';

export interface NoRequestsProps {
  readonly organization: string;
  readonly search: RequestsSearch;
  readonly filtered: boolean;
  readonly pages: RequestPages;
}

export function NoRequests({ organization, search, filtered, pages }: NoRequestsProps): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  if (search.search !== undefined) {
    return (
      <EmptyState icon="search" title="No request has this id">
        Paste the whole x-request-id of an answer, or a generation id, which begins with gen-. Requests are kept for a
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
      <EmptyState icon="filter" title="No request fits these filters">
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
