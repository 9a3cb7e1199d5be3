import { type ReactNode, type RefObject, useState } from 'react';
import type { LinkView } from '../../../contract/people.ts';
import { useToast } from '../../components/toast.tsx';
import { InvitationDialog } from '../../members/invitation-dialog.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { NewLinkDialog, RoleDialog } from './member-dialogs.tsx';
import type { MemberAction, OnMemberAction } from './member-status.ts';
import { RemoveDialog } from './remove-dialog.tsx';

export interface MemberOverlaysProps {
  readonly organization: string;
  /** Who is signed in. */
  readonly userId: string;
  readonly inviting: boolean;
  readonly onInvitingEnds: () => void;
  readonly action: MemberAction | undefined;
  readonly onAct: OnMemberAction;
  readonly inviteButton: RefObject<HTMLElement | null>;
}

export function MemberOverlays(props: MemberOverlaysProps): ReactNode {
  const { organization, userId, action, onAct } = props;
  const [made, setMade] = useState<{ readonly email: string; readonly link: LinkView }>();
  const toast = useToast();
  const shared = action && {
    organization,
    of: action.of,
    isSelf: action.of.userId === userId,
    onClose: () => onAct(undefined),
  };
  return (
    <>
      {props.inviting && (
        <InviteDialog
          organization={organization}
          onClose={props.onInvitingEnds}
          onInvited={({ email }, link) => {
            props.onInvitingEnds();
            if (link) setMade({ email, link });
            else toast({ tone: 'good', text: `${email} has an account already and was added.` });
          }}
        />
      )}
      {shared && action.what === 'role' && <RoleDialog {...shared} />}
      {shared && action.what === 'remove' && (
        <RemoveDialog {...shared} userId={userId} inviteButton={props.inviteButton} />
      )}
      {shared && action.what === 'link' && (
        <NewLinkDialog
          {...shared}
          onLink={(link) => {
            onAct(undefined);
            setMade({ email: action.of.email, link });
          }}
        />
      )}
      {made && <InvitationDialog {...made} onClose={() => setMade(undefined)} />}
    </>
  );
}
