import type { ReactNode } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { SearchFurther } from '../../table/search-further.tsx';
import type { AuditPagesProps } from './audit-pages.tsx';

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
  if (isFiltered) return <EmptyState icon="search" title="Nothing fits" />;
  return (
    <EmptyState icon="audit" title="Nothing has been changed yet">
      Whoever creates, changes or revokes something appears here, with what it was before.
    </EmptyState>
  );
}
