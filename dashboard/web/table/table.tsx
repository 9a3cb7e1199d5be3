import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react';
import { IconButton } from '../components/button.tsx';
import { classNames } from '../components/class-names.ts';
import { Icon } from '../components/icon.tsx';
import { Skeleton } from '../components/panels.tsx';
import { Menu } from '../overlays/menu.tsx';
import type { MenuAction } from '../overlays/menu-popup.tsx';
import styles from './table.module.css';

export interface Column<Row> {
  /** Empty for a column of menus, which has a `label` instead. */
  readonly header: string;
  /** Id of the column for sorting. Absent: the rows cannot be sorted by it. */
  readonly id?: string;
  readonly label?: string;
  readonly cell: (row: Row) => ReactNode;
  /** True if the cells are aligned to the end. */
  readonly numeric?: boolean;
  /** Hidden in windows narrower than this. */
  readonly hideBelow?: 'narrow' | 'medium' | 'wide';
  /** For the last column: shown only if rows are lists. Its cell shows the whole row. */
  readonly showBelow?: 'narrow';
  /** CSS length. Default: depends on the content. */
  readonly width?: string;
  /** Sum for the footer, which is shown if any column has one. */
  readonly total?: ReactNode;
}

export interface TableProps<Row> {
  /** Accessible name. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** Absent while loading, when `skeletonRows` rows are shown. */
  readonly rows: readonly Row[] | undefined;
  /** Default: the `id` of the row. */
  readonly rowKey?: (row: Row) => string;
  /** Called on a click or Enter in a row. The first cell should name the row. */
  readonly onOpen?: (row: Row) => void;
  /** Key of the row that the drawer shows. */
  readonly openKey?: string | undefined;
  /** Highlights a row that arrived while the user was looking. */
  readonly isNew?: (row: Row) => boolean;
  /** An EmptyState, shown if there are no rows. */
  readonly empty: ReactNode;
  readonly skeletonRows?: number;
  /** Makes the heads of columns with an id buttons. The rows must be sorted already. */
  readonly sorting?: Sorting | undefined;
  /** On a phone rows become small lists (default), or the table scrolls sideways. */
  readonly narrow?: 'list' | 'scroll';
  /** For many columns and rows: row heights of 40 or 32 pixels. */
  readonly density?: 'dense' | 'compact' | undefined;
}

export function Table<Row>(props: TableProps<Row>): ReactNode {
  return props.rows?.length === 0 ? <div className={styles.box}>{props.empty}</div> : <FilledTable {...props} />;
}

function FilledTable<Row>(props: TableProps<Row>): ReactNode {
  const { columns, rows, narrow = 'list' } = props;
  const [box, overflows] = useOverflows<HTMLDivElement>();
  return (
    <div
      ref={box}
      className={classNames(styles.box, overflows && styles.scrolls)}
      {...(overflows && { role: 'group', tabIndex: 0, 'aria-label': `${props.caption}, scrolls sideways` })}
    >
      <table
        aria-busy={rows === undefined}
        className={classNames(styles.table, props.density && styles[props.density], narrow === 'list' && styles.list)}
      >
        <caption className="visually-hidden">{props.caption}</caption>
        <TableHead columns={columns} sorting={props.sorting} />
        <tbody>
          {rows === undefined
            ? Array.from({ length: props.skeletonRows ?? 8 }, (_, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows without data have no other name.
                <tr key={index}>
                  {cells(columns, ({ numeric }) => (
                    <Skeleton width={numeric ? '48px' : '70%'} />
                  ))}
                </tr>
              ))
            : rows.map((row) => <TableRow key={(props.rowKey ?? keyOf)(row)} row={row} {...props} />)}
        </tbody>
        {columns.some(({ total }) => total !== undefined) && (
          <tfoot>
            <tr>{cells(columns, ({ total }) => total)}</tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

function TableRow<Row>(props: TableProps<Row> & { readonly row: Row }): ReactNode {
  const { row, columns, onOpen, openKey, rowKey = keyOf, isNew } = props;
  const openBy = onOpen && {
    tabIndex: 0,
    onClick: (event: MouseEvent) => {
      if (!isControl(event) && getSelection()?.isCollapsed !== false) onOpen(row);
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.target !== event.currentTarget) return;
      if (event.key === 'Enter' || event.key === ' ') onOpen(row);
      else if (!moveFocus(event.currentTarget, event.key)) return;
      event.preventDefault();
    },
  };
  return (
    <tr
      {...openBy}
      className={classNames(onOpen && styles.opens, isNew?.(row) && styles.isNew)}
      aria-current={openKey !== undefined && openKey === rowKey(row) ? 'true' : undefined}
    >
      {cells(columns, ({ cell }) => cell(row))}
    </tr>
  );
}

function cells<Row>(columns: readonly Column<Row>[], contentOf: (column: Column<Row>) => ReactNode): ReactNode {
  return columns.map((column) => (
    <td key={idOf(column)} className={cellClass(column)} data-label={column.header}>
      {contentOf(column)}
    </td>
  ));
}

function moveFocus({ previousElementSibling, nextElementSibling }: Element, key: string): boolean {
  const to = key === 'ArrowUp' ? previousElementSibling : key === 'ArrowDown' ? nextElementSibling : null;
  if (!(to instanceof HTMLElement)) return false;
  to.focus();
  return true;
}

/**
 * True for clicks on controls in a row, and for those outside of it: React also passes clicks in
 * the row's menus and dialogs, which are elsewhere in the document.
 */
function isControl({ target, currentTarget }: MouseEvent): boolean {
  if (!(target instanceof Element) || !currentTarget.contains(target)) return true;
  return target.closest('a, button, input, select, label') !== null;
}

function idOf<Row>({ id, header }: Column<Row>): string {
  return id ?? header;
}

function keyOf<Row>(row: Row): string {
  return (row as { readonly id: string }).id;
}

function cellClass<Row>({ numeric, hideBelow, showBelow }: Column<Row>): string {
  return classNames(numeric && styles.numeric, hideBelow && styles[hideBelow], showBelow && styles.onPhones);
}

interface Sorting {
  /** Id of the column. */
  readonly by: string;
  readonly order: 'asc' | 'desc';
  readonly onSort: (column: string) => void;
}

const ARIA = { asc: 'ascending', desc: 'descending' } as const;

/** Column heads. Sortable ones are buttons. */
function TableHead<Row>({ columns, sorting }: Pick<TableProps<Row>, 'columns' | 'sorting'>): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th
            key={idOf(column)}
            scope="col"
            className={cellClass(column)}
            style={column.width ? { width: column.width } : {}}
            aria-sort={sorting && sorting.by === column.id ? ARIA[sorting.order] : undefined}
          >
            <HeadCell column={column} sorting={sorting} />
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface HeadCellProps<Row> extends Pick<TableProps<Row>, 'sorting'> {
  readonly column: Column<Row>;
}

function HeadCell<Row>({ column, sorting }: HeadCellProps<Row>): ReactNode {
  if (column.header === '') return <span className="visually-hidden">{column.label}</span>;
  const { id } = column;
  if (sorting === undefined || id === undefined) return column.header;
  const isSorted = sorting.by === id;
  const arrow = sorting.order === 'asc' ? 'chevronUp' : 'chevronDown';
  return (
    <button type="button" className={styles.sort} onClick={() => sorting.onSort(id)}>
      {column.header}
      {isSorted ? <Icon name={arrow} /> : <Icon name="sort" className={styles.unsorted} />}
    </button>
  );
}

/** True if the content is wider than the box. Only then can the box be scrolled and focused. */
function useOverflows<Box extends HTMLElement>(): readonly [box: RefObject<Box | null>, overflows: boolean] {
  const box = useRef<Box>(null);
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const element = box.current;
    const inside = element?.firstElementChild;
    if (!element || !inside) return;
    const watcher = new ResizeObserver(() => setOverflows(inside.scrollWidth > element.clientWidth));
    watcher.observe(element);
    watcher.observe(inside);
    return () => watcher.disconnect();
  }, []);
  return [box, overflows];
}

/** A column of figures, aligned to the end. */
export function figureColumn<Row>(
  header: string,
  cell: (row: Row) => ReactNode,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { header, numeric: true, cell, ...more };
}

interface ActionsColumnProps<Row> extends Pick<Column<Row>, 'hideBelow' | 'width'> {
  /** Names the row for screen readers. */
  readonly nameOf: (row: Row) => string;
  /** Actions of the row. If there are none, it has no menu. */
  readonly actions: (row: Row) => readonly MenuAction[];
}

/** The last column of a table: a menu of actions for each row. */
export function actionsColumn<Row>({ nameOf, actions, ...look }: ActionsColumnProps<Row>): Column<Row> {
  return {
    header: '',
    label: 'Actions',
    width: '48px',
    ...look,
    cell: (row) => {
      const offered = actions(row);
      if (offered.length === 0) return null;
      return (
        <Menu
          trigger={<IconButton icon="more" label={`Actions for ${nameOf(row)}`} />}
          groups={[{ actions: offered }]}
        />
      );
    },
  };
}
