import { type ReactNode, useState } from 'react';
import { Button } from '../components/button.tsx';
import { Instant } from '../components/figures.tsx';
import { EmptyState, type Query, UnlessFailed } from '../components/states.tsx';
import { formatCount } from '../format/format-number.ts';
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

/** A button for more rows. */
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

/** A list by pages, as useAskPages returns it. */
export interface Pages<Page> extends Query<{ readonly pages: readonly Page[] }> {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => Promise<unknown>;
}

/** A page of a list. A search may stop before its page is full. */
export interface ListPage {
  readonly next?: unknown;
  readonly searchedToMs?: number;
}

export interface PagedListProps {
  readonly pages: Pages<ListPage>;
  /** Loaded rows. Absent while loading. */
  readonly count: number | undefined;
  /** Singular and plural of a row. */
  readonly nouns: readonly [one: string, several: string];
  /** Default: `Load more`. */
  readonly label?: string;
  readonly onLoad?: () => void;
  /** The table. */
  readonly children: ReactNode;
}

/** A list that is loaded page by page: its problem, or its table and a button for the next page. */
export function PagedList({ pages, count = 0, nouns, label, onLoad, children }: PagedListProps): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  const cutLabel = searchedToMs === undefined ? label : 'Search further back';
  return (
    <UnlessFailed query={pages}>
      {children}
      {count > 0 && (
        <LoadMore
          hasMore={pages.hasNextPage}
          busy={pages.isFetchingNextPage}
          onLoad={() => {
            onLoad?.();
            void pages.fetchNextPage();
          }}
          {...(cutLabel !== undefined && { label: cutLabel })}
          shown={
            <>
              {formatCount(count)} {nouns[count === 1 ? 0 : 1]}
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
    </UnlessFailed>
  );
}

export interface SearchFurtherProps {
  readonly pages: Pages<ListPage>;
  /** Singular, as after "No". */
  readonly what: string;
  /** The text for a complete search. */
  readonly children: ReactNode;
}

/** Replaces an empty list, also if its search stopped before the end. */
export function SearchFurther({ pages, what, children }: SearchFurtherProps): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  if (searchedToMs === undefined || !pages.hasNextPage) return children;
  return (
    <EmptyState
      icon="search"
      title="No match so far"
      action={
        <Button busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
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
