import type { ReactNode } from 'react';
import type { LinkView } from '../../../contract/people.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Instant } from '../../components/instant.tsx';
import { Dialog } from '../../overlays/dialog.tsx';
import styles from './members.module.css';

export interface InvitationDialogProps {
  readonly email: string;
  readonly link: LinkView;
  readonly onClose: () => void;
}

/** The link is shown once, but another can be made: it may be closed freely. */
export function InvitationDialog({ email, link, onClose }: InvitationDialogProps): ReactNode {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Hand over this link"
      description={`It lets ${email} in, with a new password or with the account that they have.`}
      footer={
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className={styles.link}>
        <code>{link.url}</code>
        <CopyButton text={link.url} what="link" wide />
      </div>
      <p className={styles.muted}>
        Whoever has the link can use it, once, until <Instant atMs={link.expiresAtMs} />. It is not shown again, but you
        can make a new one, which ends this one.
      </p>
    </Dialog>
  );
}
