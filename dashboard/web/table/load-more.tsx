import { type ReactNode, useState } from 'react';
import { Button } from '../components/button.tsx';
import { Instant } from '../components/figures.tsx';
import { EmptyState } from '../components/states.tsx';
import styles from './load-more.module.css';

export interface LoadMoreProps {
  readonly hasMore: boolean;
  readonly busy: boolean;
  readonly onLoad: () => void;
  /** How many are shown: `50 requests`. */
  readonly shown?: ReactNode;
  /** What the button does, where it is not just the next page. */
  readonly label?: string;
}

/** The next, older page below what is there: `hasMore={pages.hasNextPage} busy={pages.isFetchingNextPage} onLoad={pages.fetchNextPage}`. */
export function LoadMore({ hasMore, busy, onLoad, shown, label = 'Load more' }: LoadMoreProps): ReactNode {
  return (
    <div className={styles.row}>
      {shown && <span className={styles.shown}>{shown}</span>}
      {hasMore && (
        <Button busy={busy} onClick={() => onLoad()}>
          {label}
        </Button>
      )}
    </div>
  );
}

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

const STEP = 100;

/** Of a list that the page has whole: as many rows as are drawn at once without anybody waiting, and more on demand (LoadMore). */
export function useFirstRows<Row>(rows: readonly Row[] | undefined): {
  readonly first: readonly Row[] | undefined;
  readonly hasMore: boolean;
  readonly showMore: () => void;
} {
  const [limit, setLimit] = useState(STEP);
  return {
    first: rows?.slice(0, limit),
    hasMore: (rows?.length ?? 0) > limit,
    showMore: () => setLimit((before) => before + STEP),
  };
}
