import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { Badge } from '../../components/badge.tsx';
import { Instant, LastTime } from '../../components/figures.tsx';
import { Checkbox } from '../../forms/choices.tsx';
import { maskedKey, restrictionLabels } from '../../keys/key-labels.ts';
import { actionsColumn } from '../../table/actions-column.tsx';
import { type Column, Table } from '../../table/table.tsx';
import { KeySpends, KeyState } from './key-cells.tsx';
import { isSelectable } from './key-selection.ts';
import type { OnKeyAction } from './key-status.ts';
import { mayExtend, mayReplace, whyFixed } from './key-status.ts';
import styles from './keys.module.css';
import type { Selection } from './use-key-selection.ts';

export interface KeysTableProps {
  /** Absent while loading. */
  readonly keys: readonly KeyView[] | undefined;
  readonly openKey: string | undefined;
  readonly onOpen: (key: KeyView) => void;
  readonly onAct: OnKeyAction;
  /** Present while keys are selected: rows have boxes instead of menus. */
  readonly selection: Selection;
  readonly empty: ReactNode;
}

export function KeysTable({ keys, openKey, onOpen, onAct, selection, empty }: KeysTableProps): ReactNode {
  return (
    <Table
      caption="API keys"
      columns={[nameColumn(selection), ...COLUMNS, ...(selection.ids ? [] : [actions(onAct)])]}
      rows={keys}
      rowKey={({ id }) => id}
      onOpen={onOpen}
      openKey={openKey}
      empty={empty}
    />
  );
}

function nameColumn({ ids, toggle }: Selection): Column<KeyView> {
  return {
    id: 'name',
    header: 'Key',
    width: '19%',
    cell: (key) =>
      ids && isSelectable(key) ? (
        <Checkbox
          label={key.name}
          hint={<KeyHint of={key} />}
          checked={ids.has(key.id)}
          onChange={(selected) => toggle(key.id, selected)}
        />
      ) : (
        <div className={styles.name}>
          <strong>{key.name}</strong>
          <KeyHint of={key} />
        </div>
      ),
  };
}

/** The end of the key, and the note as far as it fits. */
function KeyHint({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <>
      <code>{maskedKey(key)}</code>
      {key.note !== undefined && <span className={styles.note}>{key.note}</span>}
    </>
  );
}

const COLUMNS: readonly Column<KeyView>[] = [
  { id: 'state', header: 'State', width: '10%', cell: (key) => <KeyState of={key} /> },
  {
    id: 'access',
    header: 'Access',
    width: '23%',
    cell: (key) => (
      <div className={styles.access}>
        <Scopes of={key} />
        <Restrictions of={key} />
      </div>
    ),
  },
  {
    id: 'used',
    header: 'Last used',
    width: '11%',
    cell: ({ lastUsedAtMs, lastAddress }) => (
      <LastTime atMs={lastUsedAtMs} note={lastAddress && `from ${lastAddress}`} />
    ),
  },
  { id: 'spent', header: 'Spent', numeric: true, width: '17%', cell: (key) => <KeySpends of={key} /> },
  {
    id: 'creator',
    header: 'Belongs to',
    width: '14%',
    hideBelow: 'wide',
    cell: ({ createdBy, createdAtMs }) => (
      <div className={styles.creator}>
        <span className={styles.ends} data-hint={createdBy}>
          {createdBy ?? 'Command line'}
        </span>
        <span className="muted">
          <Instant atMs={createdAtMs} show="date" />
        </span>
      </div>
    ),
  },
];

function Scopes({ of: { scopes } }: { readonly of: KeyView }): ReactNode {
  return (
    <div className={styles.badges}>
      {scopes.map((scope) => (
        <Badge key={scope}>{scope}</Badge>
      ))}
    </div>
  );
}

function Restrictions({ of: key }: { readonly of: KeyView }): ReactNode {
  const words = restrictionLabels(key, Date.now());
  if (words.length === 0) return <span className="muted">Not restricted</span>;
  return (
    <div className={styles.words}>
      {words.map((word) => (
        <span key={word}>{word}</span>
      ))}
    </div>
  );
}

/** The drawer has the same actions for narrow windows. */
function actions(onAct: OnKeyAction): Column<KeyView> {
  return actionsColumn({
    nameOf: ({ name }) => name,
    hideBelow: 'medium',
    actions: (key) =>
      whyFixed(key) === undefined
        ? [
            { label: 'Edit', icon: 'edit', onSelect: () => onAct({ what: 'edit', of: key }) },
            ...(mayExtend(key, Date.now())
              ? [{ label: 'Extend', icon: 'plus', onSelect: () => onAct({ what: 'extend', of: key }) } as const]
              : []),
            {
              label: 'Replace',
              icon: 'refresh',
              disabled: !mayReplace(key),
              onSelect: () => onAct({ what: 'replace', of: key }),
            },
            { label: 'Revoke', icon: 'trash', tone: 'bad', onSelect: () => onAct({ what: 'revoke', of: key }) },
          ]
        : [],
  });
}
