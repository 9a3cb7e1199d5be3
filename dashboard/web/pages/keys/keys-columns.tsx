import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { serverMs } from '../../api/server-clock.ts';
import {
  Address,
  Badge,
  Detailed,
  Instant,
  LastTime,
  Money,
  ProgressBar,
  StatusPill,
} from '../../components/values.tsx';
import { formatMoney, shortMoney } from '../../format/format.ts';
import { Checkbox } from '../../forms/choices.tsx';
import {
  maskedKey,
  type Period,
  restrictionLabels,
  SCOPE_LABELS,
  spendOf,
  spentFraction,
} from '../../keys/key-labels.ts';
import type { MenuAction } from '../../overlays/menu-popup.tsx';
import { actionsColumn, type Column } from '../../table/table.tsx';
import type { Selection } from './key-selection-bar.tsx';
import { isSelectable, type KeyStatus, keyStatus } from './key-status.ts';
import styles from './keys.module.css';

/** Actions that the user may perform on a key. */
export type KeyActions = (of: KeyView) => readonly MenuAction[];
export const EXTEND = 'Extend';

/** Columns of the list. In selection mode, rows have checkboxes instead of menus. */
export function keyColumns(selection: Selection, actionsOf: KeyActions): readonly Column<KeyView>[] {
  // In narrow windows the drawer offers the same actions.
  const menus = actionsColumn<KeyView>({ nameOf: ({ name }) => name, hideBelow: 'medium', actions: actionsOf });
  return [nameColumn(selection), ...COLUMNS, ...(selection.ids ? [] : [menus])];
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
          value={ids.has(key.id)}
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

/** The last characters of the key, and the note if there is room. */
function KeyHint({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <>
      <code>{maskedKey(key)}</code>
      {key.note !== undefined && <span className={styles.note}>{key.note}</span>}
    </>
  );
}

const COLUMNS: readonly Column<KeyView>[] = [
  { header: 'State', width: '10%', cell: (key) => <KeyState of={key} /> },
  {
    header: 'Access',
    width: '23%',
    cell: (key) => (
      <div className="stack">
        <div className="badges">
          {key.scopes.map((scope) => (
            <Badge key={scope}>{SCOPE_LABELS[scope].title}</Badge>
          ))}
        </div>
        <div className={styles.words}>
          {restrictionLabels(key, serverMs()).map((word) => (
            <span key={word}>{word}</span>
          ))}
          {restrictionLabels(key, serverMs()).length === 0 && 'Not restricted'}
        </div>
      </div>
    ),
  },
  {
    id: 'used',
    header: 'Last used',
    width: '11%',
    cell: ({ lastUsedAtMs, lastAddress }) => (
      <Detailed detail={lastAddress && <Address of={lastAddress} />}>
        <LastTime atMs={lastUsedAtMs} />
      </Detailed>
    ),
  },
  { id: 'spent', header: 'Spent', numeric: true, width: '17%', cell: (key) => <KeySpends of={key} /> },
  {
    id: 'owner',
    header: 'Belongs to',
    width: '14%',
    hideBelow: 'wide',
    cell: ({ createdBy, createdAtMs }) => (
      <div className="stack">
        <span className="clip" data-hint={createdBy}>
          {createdBy ?? 'Command line'}
        </span>
        <span className="muted">
          <Instant atMs={createdAtMs} show="date" />
        </span>
      </div>
    ),
  },
];

const PILLS: Readonly<
  Record<KeyStatus['kind'], { readonly tone: 'good' | 'warn' | 'neutral'; readonly word: string }>
> = {
  usable: { tone: 'good', word: 'Active' },
  expiring: { tone: 'warn', word: 'Expiring' },
  revoking: { tone: 'warn', word: 'Revoking' },
  expired: { tone: 'neutral', word: 'Expired' },
  revoked: { tone: 'neutral', word: 'Revoked' },
};

export function KeyState({ of: key }: { readonly of: KeyView }): ReactNode {
  const { kind, atMs } = keyStatus(key, serverMs());
  const { tone, word } = PILLS[kind];
  return (
    <span className="row">
      <StatusPill tone={tone}>{word}</StatusPill>
      {atMs !== undefined && (
        <span className="muted">
          <Instant atMs={atMs} show="relative" />
        </span>
      )}
    </span>
  );
}

interface KeySpendProps {
  readonly of: KeyView;
  readonly period: Period;
}

/** Spend of a period and its budget, if any. Without one only the day's spend is known. */
export function KeySpend({ of: key, period }: KeySpendProps): ReactNode {
  const { spentNanoUsd, budgetNanoUsd, words } = spendOf(key, period);
  if (spentNanoUsd === undefined) return null;
  if (budgetNanoUsd === undefined) return <Money nanoUsd={spentNanoUsd} />;
  return (
    <div className={styles.spend}>
      <span>
        <Money nanoUsd={spentNanoUsd} />{' '}
        <span className="muted">
          of {shortMoney(budgetNanoUsd)}
          {words}
        </span>
      </span>
      <ProgressBar
        label={`Spent of ${shortMoney(budgetNanoUsd)}${words}`}
        fraction={spentFraction(spentNanoUsd, budgetNanoUsd)}
        text={`${formatMoney(spentNanoUsd)} of ${formatMoney(budgetNanoUsd)}`}
      />
    </div>
  );
}

/** Spend of every known period, for a cell of the list. */
function KeySpends({ of: key }: { readonly of: KeyView }): ReactNode {
  return (
    <div className={styles.spends}>
      <span>
        <KeySpend of={key} period="day" />
        {key.dailyBudgetNanoUsd === undefined && <span className="muted"> today</span>}
      </span>
      <KeySpend of={key} period="month" />
      <KeySpend of={key} period="lifetime" />
    </div>
  );
}
