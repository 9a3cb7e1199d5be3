import type { ReactNode } from 'react';
import type { AuditPage } from '#contract/people.ts';
import { EmptyState } from '../../components/states.tsx';
import { PagedList, type Pages, SearchFurther } from '../../table/load-more.tsx';
import { AuditTable } from './audit-table.tsx';

export interface AuditPagesProps {
  readonly pages: Pages<AuditPage>;
  readonly withOrganization?: boolean;
  /** True if a filter may hide events. */
  readonly isFiltered: boolean;
}

/** The list of events with a button for older ones. */
export function AuditPages({ pages, withOrganization = false, isFiltered }: AuditPagesProps): ReactNode {
  const events = pages.data?.pages.flatMap((page) => page.events);
  return (
    <PagedList pages={pages} count={events?.length} nouns={['event', 'events']} label="Load older">
      <AuditTable
        events={events}
        withOrganization={withOrganization}
        empty={
          <SearchFurther pages={pages} what="event">
            {isFiltered ? (
              <EmptyState icon="search" title="No match" />
            ) : (
              <EmptyState icon="audit" title="Nothing has been changed yet">
                Every change of keys, limits, members and money appears here, with its author and the previous values.
              </EmptyState>
            )}
          </SearchFurther>
        }
      />
    </PagedList>
  );
}
