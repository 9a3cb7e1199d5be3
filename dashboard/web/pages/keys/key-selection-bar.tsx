import { type ReactNode, type RefObject, useState } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { DAY_MS } from '#core/clock.ts';
import { countOf } from '#core/count-of.ts';
import { serverMs } from '../../api/server-clock.ts';
import { Button } from '../../components/button.tsx';
import { RequestDialog } from '../../forms/form-dialog.tsx';
import { maskedKey } from '../../keys/key-labels.ts';
import { useOverlay } from '../../overlays/dialog.tsx';
import { Menu } from '../../overlays/menu.tsx';
import { isSelectable, type KeyChoice, keyChoices } from './key-status.ts';
import styles from './keys.module.css';

export interface Selection {
  /** Ids of the selected keys. Absent: the list is not in selection mode. */
  readonly ids: ReadonlySet<string> | undefined;
  readonly select: (ids: readonly string[]) => void;
  readonly toggle: (id: string, selected: boolean) => void;
  readonly end: () => void;
}

/** Selected keys. They stay selected when the list's filter changes. */
export function useKeySelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>();
  return {
    ids,
    select: (chosen) => setIds(new Set(chosen)),
    toggle: (id, selected) =>
      setIds((before = new Set()) => new Set(selected ? [...before, id] : [...before].filter((one) => one !== id))),
    end: () => setIds(undefined),
  };
}

interface KeySelectionBarProps {
  readonly keys: readonly KeyView[];
  readonly shown: readonly KeyView[];
  readonly selection: Selection;
  /** Gets the focus after the selection ends. */
  readonly afterwards: RefObject<HTMLElement | null>;
}

/** Shown in selection mode: selects many keys at once, and revokes the selected ones. */
export function KeySelectionBar(props: KeySelectionBarProps): ReactNode {
  const { keys, shown, selection, afterwards } = props;
  const [overlay, open] = useOverlay();
  if (selection.ids === undefined) return null;
  const { ids: selectedIds, select, end } = selection;
  // A key that somebody else has revoked meanwhile is no longer selected.
  const selected = keys.filter((key) => selectedIds.has(key.id) && isSelectable(key));
  const { kinds, people } = keyChoices(keys, shown, serverMs());
  const listed = new Set(shown);
  const hidden = selected.filter((key) => !listed.has(key)).length;
  const action = ({ label, ids }: KeyChoice) => ({
    label,
    detail: countOf(ids.length, 'key'),
    onSelect: () => select(ids),
  });
  const revoke = () =>
    open((onClose) => <RevokeKeysDialog keys={selected} onClose={onClose} onRevoked={end} afterwards={afterwards} />);
  const groups = [
    { heading: 'Select', actions: kinds.map(action) },
    { heading: 'All keys of', actions: people.map(action) },
  ].filter(({ actions }) => actions.length > 0);
  return (
    <fieldset className={styles.selection}>
      <legend className="visually-hidden">Selected keys</legend>
      <span className={styles.selected} role="status">
        {countOf(selected.length, 'key')} selected
        {hidden > 0 && <span className="muted"> · {hidden} not in this list</span>}
      </span>
      {groups.length > 0 && (
        <Menu trigger={<Button icon="chevronDown">Select keys</Button>} groups={groups} align="start" />
      )}
      <Button tone="danger" icon="trash" disabled={selected.length === 0} onClick={revoke}>
        Revoke selected
      </Button>
      {overlay}
    </fieldset>
  );
}

/** Number of names in the dialog. Further keys are only counted. */
const MOST_NAMES = 12;

interface RevokeKeysDialogProps extends Pick<KeySelectionBarProps, 'afterwards'> {
  /** The keys when the dialog was opened. */
  readonly keys: readonly KeyView[];
  readonly onClose: () => void;
  readonly onRevoked: () => void;
}

function RevokeKeysDialog(props: RevokeKeysDialogProps): ReactNode {
  const { keys, onClose, onRevoked, afterwards } = props;
  const count = countOf(keys.length, 'key');
  const used = keys.filter(({ lastUsedAtMs = 0 }) => serverMs() - lastUsedAtMs < DAY_MS).length;
  return (
    <RequestDialog
      endpoint="POST /api/organizations/:organization/keys/revocation"
      input={{ body: { keys: keys.map(({ id }) => id) } }}
      news={({ revoked }) => `${countOf(revoked, 'key')} revoked.`}
      onDone={() => {
        onClose();
        onRevoked();
      }}
      onClose={onClose}
      afterwards={afterwards}
      title={`Revoke ${count} now?`}
      submit={`Revoke ${count}`}
    >
      <ul className="stack">
        {keys.slice(0, MOST_NAMES).map((key) => (
          <li key={key.id} className="row">
            <span>{key.name}</span> <code className="muted">{maskedKey(key)}</code>
          </li>
        ))}
        {keys.length > MOST_NAMES && <li className="muted">and {countOf(keys.length - MOST_NAMES, 'other key')}</li>}
      </ul>
      {used > 0 && <p>{used === 1 ? '1 was' : `${used} were`} used within the last 24 hours.</p>}
      <p>
        They stop working at once: requests in progress finish, new ones get 401 key_revoked. This cannot be undone.
      </p>
    </RequestDialog>
  );
}
