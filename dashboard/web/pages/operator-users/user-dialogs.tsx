import { type ReactNode, useState } from 'react';
import type { UserRow } from '#contract/operator.ts';
import type { LinkView } from '#contract/people.ts';
import { useSend } from '../../api/use-send.ts';
import { useFinish } from '../../components/toast.tsx';
import { Checkbox } from '../../forms/choices.tsx';
import { ConfirmDialog } from '../../forms/form-dialog.tsx';
import { InvitationDialog } from '../../overlays/invitation-dialog.tsx';
import { InviteUserDialog } from './invite-user-dialog.tsx';
import styles from './users.module.css';

export interface UserDialogProps {
  readonly of: UserRow;
  readonly onClose: () => void;
}

export interface PasswordLinkDialogProps extends UserDialogProps {
  readonly onLink: (link: LinkView) => void;
}

export function PasswordLinkDialog({
  of: { id, email, invited },
  onClose,
  onLink,
}: PasswordLinkDialogProps): ReactNode {
  const make = useSend('POST /api/users/:user/reset', { changes: [], onDone: onLink });
  return (
    <ConfirmDialog
      onClose={onClose}
      title={invited ? `Make a new invitation link for ${email}?` : `Make a link to reset the password of ${email}?`}
      submit="Make link"
      tone="primary"
      sending={make}
      onSubmit={() => make.mutate({ params: { user: id } })}
    >
      {invited
        ? 'Earlier links for this person stop working.'
        : 'It goes by mail, or you hand it over. The person chooses a new password with it, which ends all of their sessions. Until then the old password works. Earlier links stop working.'}
    </ConfirmDialog>
  );
}

export function DisablementDialog({ of: { id, email, disabledAtMs }, onClose }: UserDialogProps): ReactNode {
  const finish = useFinish(onClose);
  const [revokesKeys, setRevokesKeys] = useState(true);
  const disable = useSend('POST /api/users/:user/disablement', {
    onDone: () => finish(`${email} is signed out and disabled`),
  });
  const enable = useSend('DELETE /api/users/:user/disablement', {
    onDone: () => finish(`${email} can sign in again`),
  });
  const params = { user: id };
  if (disabledAtMs !== undefined) {
    return (
      <ConfirmDialog
        onClose={onClose}
        title={`Enable ${email}?`}
        submit="Enable"
        tone="primary"
        sending={enable}
        onSubmit={() => enable.mutate({ params })}
      >
        They can sign in again with their password, and belong to the same organizations as before.
      </ConfirmDialog>
    );
  }
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Disable ${email}?`}
      submit="Disable"
      sending={disable}
      onSubmit={() => disable.mutate({ params, body: { keepKeys: !revokesKeys } })}
    >
      <div className={styles.disablement}>
        <p>They are signed out everywhere at once and cannot sign in until they are enabled again.</p>
        <Checkbox
          label="Revoke the API keys that belong to them"
          hint="In every organization. Otherwise every program with a copy keeps working. Revoking cannot be undone."
          checked={revokesKeys}
          onChange={setRevokesKeys}
        />
      </div>
    </ConfirmDialog>
  );
}

/** An action on a user that needs a dialog. */
export interface UserAction {
  readonly what: 'link' | 'disablement';
  readonly of: UserRow;
}

export type OnUserAction = (action: UserAction | undefined) => void;

export interface UserDialogsProps {
  readonly inviting: boolean;
  readonly onInvitingEnds: () => void;
  readonly action: UserAction | undefined;
  readonly onAct: OnUserAction;
}

export function UserDialogs({ inviting, onInvitingEnds, action, onAct }: UserDialogsProps): ReactNode {
  const [made, setMade] = useState<{ readonly email: string; readonly link: LinkView }>();
  const onClose = () => onAct(undefined);
  return (
    <>
      {inviting && (
        <InviteUserDialog
          onClose={onInvitingEnds}
          onInvited={({ email }, link) => {
            onInvitingEnds();
            setMade({ email, link });
          }}
        />
      )}
      {action?.what === 'link' && (
        <PasswordLinkDialog
          of={action.of}
          onClose={onClose}
          onLink={(link) => {
            onClose();
            setMade({ email: action.of.email, link });
          }}
        />
      )}
      {action?.what === 'disablement' && <DisablementDialog of={action.of} onClose={onClose} />}
      {made && <InvitationDialog {...made} onClose={() => setMade(undefined)} />}
    </>
  );
}
