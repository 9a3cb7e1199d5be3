import { type ReactNode, type RefObject, useRef } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { countOf } from '#core/count-of.ts';
import { useSend } from '../../api/use-send.ts';
import { useFinish } from '../../components/toast.tsx';
import { ConfirmDialog } from '../../forms/form-dialog.tsx';
import { maskedKey } from '../../keys/key-labels.ts';
import styles from './keys.module.css';

/** Names that the dialog shows before it counts the others. */
const MOST_NAMES = 12;
const DAY_MS = 86_400_000;

export interface RevokeKeysDialogProps {
  readonly organization: string;
  /** As they were when the dialog opened. */
  readonly keys: readonly KeyView[];
  readonly onClose: () => void;
  readonly onRevoked: () => void;
  /** Gets the focus when the focused element is gone with the selection. */
  readonly afterwards: RefObject<HTMLElement | null>;
}

/** Asks once for all of the selected keys. */
export function RevokeKeysDialog(props: RevokeKeysDialogProps): ReactNode {
  const { organization, keys, onClose, onRevoked, afterwards } = props;
  const finalFocus = useRef<HTMLElement>(null);
  const finish = useFinish(onClose);
  const revoke = useSend('POST /api/organizations/:organization/keys/revocation', {
    changes: ['GET /api/organizations/:organization/keys'],
    onDone: ({ revoked }) => {
      finalFocus.current = afterwards.current;
      finish(`${countOf(revoked, 'key')} revoked.`);
      onRevoked();
    },
  });
  const count = countOf(keys.length, 'key');
  const used = keys.filter(({ lastUsedAtMs = 0 }) => Date.now() - lastUsedAtMs < DAY_MS).length;
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Revoke ${count} now?`}
      finalFocus={finalFocus}
      submit={`Revoke ${count}`}
      sending={revoke}
      onSubmit={() => revoke.mutate({ params: { organization }, body: { keys: keys.map(({ id }) => id) } })}
    >
      <div className={styles.paragraphs}>
        <ul className={styles.list}>
          {keys.slice(0, MOST_NAMES).map((key) => (
            <li key={key.id} className={styles.named}>
              <span>{key.name}</span> <code>{maskedKey(key)}</code>
            </li>
          ))}
          {keys.length > MOST_NAMES && <li className="muted">and {countOf(keys.length - MOST_NAMES, 'other key')}</li>}
        </ul>
        {used > 0 && <p>{used === 1 ? '1 was' : `${used} were`} used within the last 24 hours.</p>}
        <p>
          They stop working at once: requests in progress finish, new ones get 401 key_revoked. This cannot be undone.
        </p>
      </div>
    </ConfirmDialog>
  );
}
