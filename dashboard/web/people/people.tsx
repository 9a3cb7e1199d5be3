import type { ReactNode } from 'react';
import type { LinkView } from '#contract/people.ts';
import { Button } from '../components/button.tsx';
import { CopyBox } from '../components/copy.tsx';
import { Instant, StatusPill } from '../components/values.tsx';
import { Dialog, type DialogProps, type OpenOverlay } from '../overlays/dialog.tsx';

/** Texts of the dialog that invites. */
export const INVITING = {
  title: 'Invite someone',
  description: 'They get a link by email. Without a mail server, you get the link to pass on.',
  submit: 'Invite',
} as const;

/** Shows an invitation's link, or that it was mailed. */
export function handOver(open: OpenOverlay, email: string, link: LinkView): void {
  open((onClose) => <InvitationDialog email={email} link={link} onClose={onClose} />);
}

interface InvitationDialogProps extends Pick<DialogProps, 'onClose'> {
  readonly email: string;
  readonly link: LinkView;
}

/** A mailed link is not shown, any other once. The dialog may close: new links can be made. */
function InvitationDialog({ email, link, onClose }: InvitationDialogProps): ReactNode {
  return (
    <Dialog
      onClose={onClose}
      title={link.url === undefined ? 'Email sent' : 'Hand over this link'}
      description={`${link.url === undefined ? 'Its link' : 'It'} lets ${email} in, as a new user or with their existing account.`}
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
            but you can make a new one, which replaces this one.
          </>
        )}
      </p>
    </Dialog>
  );
}

interface PersonProps {
  readonly email: string;
  /** Shown for the signed-in user. */
  readonly isSelf: boolean;
  readonly children?: ReactNode;
}

export function Person({ email, isSelf, children }: PersonProps): ReactNode {
  return (
    <span className="row">
      <span className="clip" data-hint={email}>
        {email}
      </span>
      {isSelf && <span className="muted">you</span>}
      {children}
    </span>
  );
}

/** Whether a person can sign in. A disabled one is shown as disabled, whether invited or not. */
export function PersonState(of: { readonly invited: boolean; readonly disabled: boolean }): ReactNode {
  if (of.disabled) return <StatusPill tone="bad">Disabled</StatusPill>;
  return of.invited ? <StatusPill tone="warn">Invited</StatusPill> : <StatusPill tone="good">Active</StatusPill>;
}
