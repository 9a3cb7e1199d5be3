import { type ReactNode, type RefObject, useRef } from 'react';
import { useSend } from '../../api/use-send.ts';
import { Instant } from '../../components/figures.tsx';
import { useFinish } from '../../components/toast.tsx';
import { ConfirmDialog } from '../../forms/form-dialog.tsx';
import type { KeyDialogProps } from './key-form-dialogs.tsx';
import styles from './keys.module.css';

export interface RevokeKeyDialogProps extends KeyDialogProps {
  /** Gets the focus when the focused element is gone with the key. */
  readonly afterwards: RefObject<HTMLElement | null>;
}

export function RevokeKeyDialog({ organization, of: key, onClose, afterwards }: RevokeKeyDialogProps): ReactNode {
  const finalFocus = useRef<HTMLElement>(null);
  const finish = useFinish(onClose);
  const revoke = useSend('POST /api/organizations/:organization/keys/:key/revocation', {
    changes: ['GET /api/organizations/:organization/keys'],
    onDone: ({ name }) => {
      finalFocus.current = afterwards.current;
      finish(`Key “${name}” revoked.`);
    },
  });
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Revoke “${key.name}” now?`}
      finalFocus={finalFocus}
      submit="Revoke key"
      sending={revoke}
      onSubmit={() => revoke.mutate({ params: { organization, key: key.id } })}
    >
      <div className={styles.paragraphs}>
        <p>
          It stops working at once: requests in progress finish, new ones get 401 key_revoked. This cannot be undone.
        </p>
        {key.lastUsedAtMs !== undefined && (
          <p>
            Last used <Instant atMs={key.lastUsedAtMs} show="relative" />
            {key.lastAddress !== undefined && ` from ${key.lastAddress}`}.
          </p>
        )}
      </div>
    </ConfirmDialog>
  );
}
