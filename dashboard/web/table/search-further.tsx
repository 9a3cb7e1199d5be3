import type { ReactNode } from 'react';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Instant } from '../components/instant.tsx';

export interface SearchFurtherProps {
  /** In the singular, as after "No". */
  readonly what: string;
  readonly searchedToMs: number;
  readonly busy: boolean;
  readonly onFurther: () => void;
}

/** Shown instead of a list when the part of it that was searched has nothing that fits, and there is more. */
export function SearchFurther({ what, searchedToMs, busy, onFurther }: SearchFurtherProps): ReactNode {
  return (
    <EmptyState
      icon="search"
      title="Nothing fits so far"
      action={
        <Button busy={busy} onClick={onFurther}>
          Search further back
        </Button>
      }
    >
      No {what} since <Instant atMs={searchedToMs} /> fits these filters.
    </EmptyState>
  );
}
