import { type ReactNode, useState } from 'react';
import type { LinkView } from '../../../contract/people.ts';
import { InvitationDialog } from '../../members/invitation-dialog.tsx';
import { InviteUserDialog } from './invite-user-dialog.tsx';
import type { OnUserAction, UserAction } from './user-dialogs.tsx';
import { DisablementDialog, PasswordLinkDialog } from './user-dialogs.tsx';

export interface UserOverlaysProps {
  readonly inviting: boolean;
  readonly onInvitingEnds: () => void;
  readonly action: UserAction | undefined;
  readonly onAct: OnUserAction;
}

export function UserOverlays({ inviting, onInvitingEnds, action, onAct }: UserOverlaysProps): ReactNode {
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
