import { type ReactNode, useState } from 'react';
import { Button } from '../components/button.tsx';
import { Instant } from '../components/figures.tsx';
import { EmptyState } from '../components/states.tsx';
import styles from './load-more.module.css';

export interface LoadMoreProps {
  readonly hasMore: boolean;
  readonly busy: boolean;
  readonly onLoad: () => void;
  /** Number of shown rows: `50 requests`. */
  readonly shown?: ReactNode;
  /** Default: `Load more`. */
  readonly label?: string;
}

/**
 * Loads the next, older page: `hasMore={pages.hasNextPage} busy={pages.isFetchingNextPage}
 * onLoad={pages.fetchNextPage}`.
 */
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
  /** Singular, as after "No". */
  readonly what: string;
  readonly searchedToMs: number;
  readonly busy: boolean;
  readonly onFurther: () => void;
}

/** Replaces an empty list if the search stopped before the end. */
export function SearchFurther({ what, searchedToMs, busy, onFurther }: SearchFurtherProps): ReactNode {
  return (
    <EmptyState
      icon="search"
      title="No match so far"
      action={
        <Button busy={busy} onClick={onFurther}>
          Search further back
        </Button>
      }
    >
      No {what} since <Instant atMs={searchedToMs} /> matches these filters.
    </EmptyState>
  );
}

const STEP = 100;

/** The first rows of a long list that is loaded, and more on demand (LoadMore). */
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
