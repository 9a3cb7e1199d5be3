import type { Url } from '../search/use-url.ts';

export type Order = 'asc' | 'desc';

export interface SortingState<Column extends string> {
  readonly sort?: Column | undefined;
  readonly order?: Order | undefined;
}

/** The default column, and columns of names, which are first sorted in ascending order. */
export interface SortableColumns<Column extends string> {
  readonly usual: Column;
  readonly names: readonly Column[];
}

export function chosenSorting<Column extends string>(
  { sort, order }: SortingState<Column>,
  { usual, names }: SortableColumns<Column>,
) {
  const by = sort ?? usual;
  return { by, order: (sort && order) ?? firstOrder(by, names) };
}

/**
 * For a Table. The first click on a column head sorts by it, the second reverses the order, and the
 * third sorts by default.
 */
export function tableSorting<Column extends string>(
  { search, change }: Pick<Url<SortingState<Column>>, 'search' | 'change'>,
  columns: SortableColumns<Column>,
) {
  const { by, order } = chosenSorting(search, columns);
  return {
    ...{ by, order },
    onSort(column: string) {
      const sort = column as Column;
      const first = firstOrder(sort, columns.names);
      if (sort !== by) change({ sort, order: first });
      else if (order !== first) change({ sort: undefined, order: undefined });
      else change({ sort, order: order === 'asc' ? 'desc' : 'asc' });
    },
  };
}

const compareText = new Intl.Collator('en-US', { numeric: true }).compare;

/** Rows without a value come last in either order. Equal rows keep their order. */
export function sortRows<Row>(
  rows: readonly Row[],
  order: Order,
  read: (row: Row) => string | number | bigint | undefined,
): readonly Row[] {
  const direction = order === 'asc' ? 1 : -1;
  return rows.toSorted((one, other) => {
    const [a, b] = [read(one), read(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    if (typeof a === 'string' && typeof b === 'string') return direction * compareText(a, b);
    return direction * (a < b ? -1 : Number(a > b));
  });
}

function firstOrder<Column extends string>(column: Column, names: readonly Column[]): Order {
  return names.includes(column) ? 'asc' : 'desc';
}
