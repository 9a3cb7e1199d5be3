import type { ReactNode } from 'react';
import type { LinkView } from '../../contract/people.ts';
import { Button } from '../components/button.tsx';
import { CopyBox } from '../components/copy-button.tsx';
import { Instant } from '../components/figures.tsx';
import { Dialog } from './dialog.tsx';

export interface InvitationDialogProps {
  readonly email: string;
  readonly link: LinkView;
  readonly onClose: () => void;
}

/** The link is shown once, but a new one can be made, so the dialog may be closed freely. */
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
      <CopyBox text={link.url} what="link" />
      <p className="muted">
        Anybody with the link can use it, once, until <Instant atMs={link.expiresAtMs} />. It is not shown again, but
        you can make a new one, which ends this one.
      </p>
    </Dialog>
  );
}
