import type { ReactNode } from 'react';
import { Icon } from '../components/icon.tsx';
import styles from './table.module.css';
import type { Column, TableProps } from './table.tsx';
import { cellClass } from './table-cell-class.ts';

export interface Sorting {
  /** Id of the column. */
  readonly by: string;
  readonly order: 'asc' | 'desc';
  readonly onSort: (column: string) => void;
}

const ARIA = { asc: 'ascending', desc: 'descending' } as const;

/** Names of the columns; those that sort are buttons. */
export function TableHead<Row>({ columns, sorting }: Pick<TableProps<Row>, 'columns' | 'sorting'>): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th
            key={column.id}
            scope="col"
            className={cellClass(column)}
            style={column.width ? { width: column.width } : {}}
            aria-sort={sorting?.by === column.id ? ARIA[sorting.order] : undefined}
          >
            <HeadCell column={column} sorting={sorting} />
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface HeadCellProps<Row> {
  readonly column: Column<Row>;
  readonly sorting: Sorting | undefined;
}

function HeadCell<Row>({ column, sorting }: HeadCellProps<Row>): ReactNode {
  if (column.header === '') return <span className="visually-hidden">{column.label}</span>;
  if (sorting === undefined) return column.header;
  const state = sorting.by === column.id ? styles[sorting.order] : styles.unsorted;
  return (
    <button type="button" className={styles.sort} onClick={() => sorting.onSort(column.id)}>
      {column.header}
      <span className={state}>
        <Icon name={sorting.by === column.id ? 'chevronDown' : 'sort'} />
      </span>
    </button>
  );
}
