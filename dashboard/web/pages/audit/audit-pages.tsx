import type { ReactNode } from 'react';
import type { AuditPage } from '../../../contract/people.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { Instant } from '../../components/figures.tsx';
import { EmptyState, ErrorState } from '../../components/states.tsx';
import { formatCount } from '../../format/format-number.ts';
import { LoadMore, SearchFurther } from '../../table/load-more.tsx';
import { AuditTable } from './audit-table.tsx';

export interface AuditPagesProps {
  readonly pages: {
    readonly data: { readonly pages: readonly AuditPage[] } | undefined;
    readonly error: ApiProblem | null;
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => Promise<unknown>;
    readonly refetch: () => Promise<unknown>;
  };
  readonly withOrganization?: boolean;
  /** True if a filter may hide events. */
  readonly isFiltered: boolean;
}

/** The list of events with a button for older ones. */
export function AuditPages(props: AuditPagesProps): ReactNode {
  const { pages, withOrganization = false } = props;
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  const events = pages.data?.pages.flatMap((page) => page.events);
  if (pages.error && events === undefined) {
    return <ErrorState problem={pages.error} onRetry={() => void pages.refetch()} />;
  }
  return (
    <>
      <AuditTable events={events} withOrganization={withOrganization} empty={<NoEvents {...props} />} />
      {events !== undefined && events.length > 0 && (
        <LoadMore
          hasMore={pages.hasNextPage}
          busy={pages.isFetchingNextPage}
          onLoad={() => void pages.fetchNextPage()}
          label={searchedToMs === undefined ? 'Load older' : 'Search further back'}
          shown={
            <>
              {formatCount(events.length)} {events.length === 1 ? 'event' : 'events'}
              {searchedToMs !== undefined && (
                <>
                  {' '}
                  since <Instant atMs={searchedToMs} />
                </>
              )}
            </>
          }
        />
      )}
    </>
  );
}

export function NoEvents({ pages, isFiltered }: AuditPagesProps): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  if (searchedToMs !== undefined && pages.hasNextPage) {
    return (
      <SearchFurther
        what="event"
        searchedToMs={searchedToMs}
        busy={pages.isFetchingNextPage}
        onFurther={() => void pages.fetchNextPage()}
      />
    );
  }
  if (isFiltered) return <EmptyState icon="search" title="No match" />;
  return (
    <EmptyState icon="audit" title="Nothing has been changed yet">
      Every change of keys, limits, members and money appears here, with its author and the previous values.
    </EmptyState>
  );
}
