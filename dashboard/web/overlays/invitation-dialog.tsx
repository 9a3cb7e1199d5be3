import type { ReactNode } from 'react';
import type { LinkView } from '#contract/people.ts';
import { Button } from '../components/button.tsx';
import { CopyBox } from '../components/copy-button.tsx';
import { Instant } from '../components/figures.tsx';
import { Dialog } from './dialog.tsx';

export interface InvitationDialogProps {
  readonly email: string;
  readonly link: LinkView;
  readonly onClose: () => void;
}

/**
 * A link that goes by mail is not shown. Another one is shown once, but a new one can be made, so
 * the dialog may be closed freely.
 */
export function InvitationDialog({ email, link, onClose }: InvitationDialogProps): ReactNode {
  return (
    <Dialog
      open
      onClose={onClose}
      title={link.url === undefined ? 'A mail is on its way' : 'Hand over this link'}
      description={`${link.url === undefined ? 'Its link' : 'It'} lets ${email} in, as a new user or with the account that they have.`}
      footer={
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      {link.url !== undefined && <CopyBox text={link.url} what="link" />}
      <p className="muted">
        {link.url === undefined ? (
          <>
            The link works once, until <Instant atMs={link.expiresAtMs} />. A new mail ends it.
          </>
        ) : (
          <>
            Anybody with the link can use it, once, until <Instant atMs={link.expiresAtMs} />. It is not shown again,
            but you can make a new one, which ends this one.
          </>
        )}
      </p>
    </Dialog>
  );
}
