import { useState } from 'react';

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
