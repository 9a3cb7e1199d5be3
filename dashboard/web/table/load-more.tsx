import type { ReactNode } from 'react';
import { Button } from '../components/button.tsx';
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
