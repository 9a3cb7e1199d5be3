import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Instant } from '../../components/instant.tsx';
import type { AuditPagesProps } from './audit-pages.tsx';

export function NoEvents({ pages, isFiltered }: AuditPagesProps): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  if (searchedToMs !== undefined && pages.hasNextPage) {
    return (
      <EmptyState
        icon="search"
        title="Nothing fits so far"
        action={
          <Button busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            Search further back
          </Button>
        }
      >
        Nothing since <Instant atMs={searchedToMs} /> fits these filters.
      </EmptyState>
    );
  }
  if (isFiltered) return <EmptyState icon="search" title="Nothing fits" />;
  return (
    <EmptyState icon="audit" title="Nothing has been changed yet">
      Whoever creates, changes or revokes something appears here, with what it was before.
    </EmptyState>
  );
}
