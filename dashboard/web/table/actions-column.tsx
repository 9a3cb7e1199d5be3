import { IconButton } from '../components/button.tsx';
import { Menu } from '../overlays/menu.tsx';
import type { MenuAction } from '../overlays/menu-popup.tsx';
import type { Column } from './table.tsx';

export interface ActionsColumnProps<Row> extends Pick<Column<Row>, 'hideBelow' | 'width'> {
  /** Names the row for screen readers. */
  readonly nameOf: (row: Row) => string;
  /** Actions of the row; none: no menu. */
  readonly actions: (row: Row) => readonly MenuAction[];
}

/** The last column of a table: a menu of actions for each row. */
export function actionsColumn<Row>({ nameOf, actions, ...look }: ActionsColumnProps<Row>): Column<Row> {
  return {
    id: 'actions',
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
