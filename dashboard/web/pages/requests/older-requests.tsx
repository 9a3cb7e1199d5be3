import type { ReactNode } from 'react';
import type { RequestPage } from '../../../contract/request-log.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { Banner } from '../../components/banner.tsx';
import { Instant } from '../../components/instant.tsx';
import { formatCount } from '../../format/format-number.ts';
import { LoadMore } from '../../table/load-more.tsx';

export interface RequestPages {
  readonly data: { readonly pages: readonly RequestPage[] } | undefined;
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly isFetchNextPageError: boolean;
  readonly error: ApiProblem | null;
  readonly fetchNextPage: () => Promise<unknown>;
}

/** The way to older requests. A filter that fits very little is searched for in steps, and this says how far it came. */
export function OlderRequests({ pages, shown }: { readonly pages: RequestPages; readonly shown: number }): ReactNode {
  const searchedToMs = pages.data?.pages.at(-1)?.searchedToMs;
  if (shown === 0) return null;
  return (
    <>
      {pages.isFetchNextPageError && pages.error && <Banner tone="bad">{pages.error.message}</Banner>}
      <LoadMore
        hasMore={pages.hasNextPage}
        busy={pages.isFetchingNextPage}
        onLoad={() => void pages.fetchNextPage()}
        label={searchedToMs === undefined ? 'Load older' : 'Search further back'}
        shown={
          <>
            {formatCount(shown)} {shown === 1 ? 'request' : 'requests'}
            {searchedToMs !== undefined && (
              <>
                {' '}
                since <Instant atMs={searchedToMs} />
              </>
            )}
          </>
        }
      />
    </>
  );
}
