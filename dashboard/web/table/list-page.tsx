import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { CsvTable, OperatorCsvTable } from '#contract/api.ts';
import { queryText } from '#contract/define-search.ts';
import { countOf } from '#core/count-of.ts';
import { present } from '#core/present.ts';
import { useOrganizationOfPage } from '../api/queries.ts';
import { Button, ButtonAnchor } from '../components/button.tsx';
import {
  Banner,
  EmptyState,
  PageHeader,
  type PageHeaderProps,
  type Query,
  Stale,
  UnlessFailed,
} from '../components/panels.tsx';
import { Instant } from '../components/values.tsx';
import { formatCount } from '../format/format.ts';
import { FilterBar, type FilterBarProps } from '../forms/filter-bar.tsx';
import styles from './list-page.module.css';
import { Table, type TableProps } from './table.tsx';

/** A paged list from useAskPages. A search may stop before its page is full. */
interface Pages
  extends Query<{ readonly pages: readonly { readonly searchedToMs?: number }[] }>,
    Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError'> {
  readonly fetchNextPage: () => Promise<unknown>;
}

interface ListProps<Row> extends TableProps<Row> {
  /** A paged list, or a query that has loaded all rows. */
  readonly query: (Pages | Query<unknown>) & Pick<UseQueryResult, 'isPlaceholderData'>;
  /** Singular and plural of the noun for a row. */
  readonly nouns: readonly [one: string, several: string];
  /** Label of the button for the next page. */
  readonly more?: string;
  /** Number of rows to announce. Default: all rows, if the list is loaded as a whole. */
  readonly found?: number | undefined;
  /** Shown above the table. */
  readonly note?: ReactNode;
}

const STEP_ROWS = 100;

/** A table with its errors, a button for more rows, and the number of rows for screen readers. */
export function List<Row>({ query, nouns, more = 'Load more', note, ...table }: ListProps<Row>): ReactNode {
  const [limit, setLimit] = useState(STEP_ROWS);
  const { rows } = table;
  const [one, several] = nouns;
  const pages = 'fetchNextPage' in query ? query : undefined;
  const { found = pages ? undefined : rows?.length } = table;
  // True while rows of the previous filter are shown.
  const isStale = query.isPlaceholderData;
  const count = rows?.length ?? 0;
  const searchedToMs = pages?.data?.pages.at(-1)?.searchedToMs;
  const loadNext = () => void pages?.fetchNextPage();
  return (
    <UnlessFailed query={query}>
      {note}
      <span className="visually-hidden" role="status">
        {found !== undefined && !isStale && countOf(found, one, several)}
        {found !== undefined && !isStale && pages?.hasNextPage && ', and there are more'}
      </span>
      {/* Another element with rows than without: a note that comes with them would shift it. */}
      <Stale key={String(!rows)} isStale={isStale}>
        <Table
          {...table}
          rows={pages ? rows : rows?.slice(0, limit)}
          empty={
            pages?.hasNextPage && searchedToMs !== undefined ? (
              <EmptyState
                icon="search"
                title="No match so far"
                action={
                  <Button busy={pages.isFetchingNextPage} onClick={loadNext}>
                    Search further back
                  </Button>
                }
              >
                No {one} since <Instant atMs={searchedToMs} /> matches these filters.
              </EmptyState>
            ) : (
              table.empty
            )
          }
        />
      </Stale>
      {pages && count > 0 && (
        <LoadMore
          busy={pages.isFetchingNextPage}
          label={searchedToMs === undefined ? more : 'Search further back'}
          onLoad={pages.hasNextPage ? loadNext : undefined}
        >
          {formatCount(count)} {count === 1 ? one : several}
          {searchedToMs !== undefined && (
            <>
              {' '}
              since <Instant atMs={searchedToMs} />
            </>
          )}
        </LoadMore>
      )}
      {pages === undefined && count > limit && (
        <LoadMore onLoad={() => setLimit(limit + STEP_ROWS)}>
          {formatCount(limit)} of {formatCount(count)} {several}
        </LoadMore>
      )}
      {pages?.isFetchNextPageError && count > 0 && <Banner tone="bad">{pages.error?.message}</Banner>}
    </UnlessFailed>
  );
}

interface LoadMoreProps {
  /** Absent: there are no more rows. */
  readonly onLoad: (() => void) | undefined;
  readonly busy?: boolean;
  readonly label?: string;
  /** Text with the number of rows, such as `50 requests`. */
  readonly children: ReactNode;
}

export function LoadMore({ onLoad, busy = false, label = 'Load more', children }: LoadMoreProps): ReactNode {
  return (
    <div className={styles.row}>
      <span className="muted small">{children}</span>
      {onLoad && (
        <Button busy={busy} onClick={onLoad}>
          {label}
        </Button>
      )}
    </div>
  );
}

export interface ListPageProps<Row> extends ListProps<Row>, PageHeaderProps, Pick<FilterBarProps, 'url'> {
  readonly filters: ReactNode;
  /** Shown after the filters: a CsvLink. */
  readonly besideFilters?: ReactNode;
  /** Shown between heading and filters. */
  readonly banners?: ReactNode;
  /** What the user may have searched for if no row matches. `false`: `empty` covers that case. */
  readonly noMatch?: string | false;
  readonly children?: ReactNode;
}

/** A page with one list: heading, filters, table, and the texts for an empty list. */
export function ListPage<Row>(props: ListPageProps<Row>): ReactNode {
  const { title, description, actions, help, banners, url, filters, besideFilters, noMatch, children, ...list } = props;
  return (
    <>
      <PageHeader title={title} {...present({ description, actions, help })} />
      {banners}
      <FilterBar url={url} actions={besideFilters}>
        {filters}
      </FilterBar>
      <List
        {...list}
        empty={
          url.isFiltered && noMatch !== false ? (
            <EmptyState
              icon="search"
              title={`No matching ${list.nouns[0]}`}
              action={<Button onClick={url.clear}>Clear the filter</Button>}
            >
              {noMatch}
            </EmptyState>
          ) : (
            list.empty
          )
        }
      />
      {children}
    </>
  );
}

interface CsvLinkProps {
  readonly table: CsvTable | OperatorCsvTable;
  readonly query: Readonly<Record<string, unknown>>;
}

/** Downloads all rows that match the page's filter as CSV. */
export function CsvLink({ table, query }: CsvLinkProps): ReactNode {
  const organization = useOrganizationOfPage();
  const folder = organization === undefined ? '/api' : `/api/organizations/${encodeURIComponent(organization)}`;
  return (
    <ButtonAnchor icon="download" href={`${folder}/${table}.csv${queryText(query)}`} download>
      Export CSV
    </ButtonAnchor>
  );
}
