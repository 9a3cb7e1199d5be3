import { type ReactNode, type RefObject, useState } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { countOf } from '#core/count-of.ts';
import { Button } from '../../components/button.tsx';
import { Menu } from '../../overlays/menu.tsx';
import { isSelectable, type KeyChoice, keyChoices } from './key-selection.ts';
import styles from './keys.module.css';
import { RevokeKeysDialog } from './revoke-keys-dialog.tsx';
import type { Selection } from './use-key-selection.ts';

export interface KeySelectionBarProps {
  readonly organization: string;
  readonly keys: readonly KeyView[];
  /** Keys of the present filter. */
  readonly shown: readonly KeyView[];
  readonly selection: Selection;
  /** Gets the focus when the selection has ended. */
  readonly afterwards: RefObject<HTMLElement | null>;
}

/** While keys are selected: selects many at once, and revokes the selected ones. */
export function KeySelectionBar(props: KeySelectionBarProps): ReactNode {
  const { organization, keys, shown, selection, afterwards } = props;
  const [revoking, setRevoking] = useState<readonly KeyView[]>();
  if (selection.ids === undefined) return null;
  const { ids: selectedIds, select, end } = selection;
  // A key that somebody else has revoked meanwhile is selected no longer.
  const selected = keys.filter((key) => selectedIds.has(key.id) && isSelectable(key));
  const { kinds, people } = keyChoices(keys, shown, Date.now());
  const listed = new Set(shown);
  const hidden = selected.filter((key) => !listed.has(key)).length;
  const action = ({ label, ids }: KeyChoice) => ({
    label,
    detail: countOf(ids.length, 'key'),
    onSelect: () => select(ids),
  });
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
      <Button tone="danger" icon="trash" disabled={selected.length === 0} onClick={() => setRevoking(selected)}>
        Revoke selected
      </Button>
      <Button tone="quiet" onClick={end}>
        Done
      </Button>
      {revoking && (
        <RevokeKeysDialog
          organization={organization}
          keys={revoking}
          onClose={() => setRevoking(undefined)}
          onRevoked={end}
          afterwards={afterwards}
        />
      )}
    </fieldset>
  );
}
