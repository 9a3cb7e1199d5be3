import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import styles from './load-more.module.css';

export interface LoadMoreProps {
  readonly hasMore: boolean;
  readonly busy: boolean;
  readonly onLoad: () => void;
  /** How many are shown: `50 requests`. */
  readonly shown?: string;
}

/** The next, older page below what is there: `hasMore={pages.hasNextPage} busy={pages.isFetchingNextPage} onLoad={pages.fetchNextPage}`. */
export function LoadMore({ hasMore, busy, onLoad, shown }: LoadMoreProps): ReactNode {
  return (
    <div className={styles.row}>
      {shown && <span className={styles.shown}>{shown}</span>}
      {hasMore && (
        <Button busy={busy} onClick={() => onLoad()}>
          Load more
        </Button>
      )}
    </div>
  );
}
