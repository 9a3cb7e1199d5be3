import type { ReactNode } from 'react';
import type { AuditPage } from '../../../contract/people.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { ErrorState } from '../../components/error-state.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { formatCount } from '../../format/format-number.ts';
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
  /** What is not there may be so only because of a filter. */
  readonly isFiltered: boolean;
}

/** The log with the way to what is older. */
export function AuditPages({ pages, withOrganization = false, isFiltered }: AuditPagesProps): ReactNode {
  const events = pages.data?.pages.flatMap((page) => page.events);
  if (pages.error && events === undefined) {
    return <ErrorState problem={pages.error} onRetry={() => void pages.refetch()} />;
  }
  return (
    <>
      <AuditTable events={events} withOrganization={withOrganization} isFiltered={isFiltered} />
      {events !== undefined && events.length > 0 && (
        <LoadMore
          hasMore={pages.hasNextPage}
          busy={pages.isFetchingNextPage}
          onLoad={() => void pages.fetchNextPage()}
          label="Load older"
          shown={`${formatCount(events.length)} ${events.length === 1 ? 'event' : 'events'}`}
        />
      )}
    </>
  );
}
