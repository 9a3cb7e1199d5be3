import { type ReactNode, type RefObject, useState } from 'react';
import type { LinkView } from '#contract/people.ts';
import { useSend } from '../../api/use-send.ts';
import { useFinish, useToast } from '../../components/toast.tsx';
import { ConfirmDialog } from '../../forms/form-dialog.tsx';
import { InvitationDialog } from '../../overlays/invitation-dialog.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import type { MemberAction, MemberDialogProps, OnMemberAction } from './member-status.ts';
import { RemoveDialog } from './remove-dialog.tsx';

export function RoleDialog({ organization, of: member, isSelf, onClose }: MemberDialogProps): ReactNode {
  const finish = useFinish(onClose);
  const role = member.role === 'owner' ? 'member' : 'owner';
  const change = useSend('PATCH /api/organizations/:organization/members/:user', {
    onDone: ({ email }) => finish(`${email} is ${role === 'owner' ? 'an owner' : 'a member'} now.`),
  });
  return (
    <ConfirmDialog
      onClose={onClose}
      title={role === 'owner' ? `Make ${member.email} an owner?` : `Make ${member.email} a member?`}
      submit={role === 'owner' ? 'Make an owner' : 'Make a member'}
      tone={role === 'owner' ? 'primary' : 'danger'}
      sending={change}
      onSubmit={() => change.mutate({ params: { organization, user: member.userId }, body: { role } })}
    >
      {role === 'owner'
        ? 'Owners manage all keys and members of the organization, other owners too, and see the audit log.'
        : `${isSelf ? 'You' : 'They'} will no longer see members and audit log, and manage only keys that ${isSelf ? 'you' : 'they'} made.`}
    </ConfirmDialog>
  );
}

export interface NewLinkDialogProps extends Omit<MemberDialogProps, 'isSelf'> {
  readonly onLink: (link: LinkView) => void;
}

export function NewLinkDialog({ organization, of: member, onClose, onLink }: NewLinkDialogProps): ReactNode {
  const renew = useSend('POST /api/organizations/:organization/members/:user/invitation', {
    changes: [],
    onDone: onLink,
  });
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Make a new link for ${member.email}?`}
      submit="Make new link"
      tone="primary"
      sending={renew}
      onSubmit={() => renew.mutate({ params: { organization, user: member.userId } })}
    >
      Earlier links for this person stop working.
    </ConfirmDialog>
  );
}

export interface MemberDialogsProps {
  readonly organization: string;
  /** The signed-in user. */
  readonly userId: string;
  readonly inviting: boolean;
  readonly onInvitingEnds: () => void;
  readonly action: MemberAction | undefined;
  readonly onAct: OnMemberAction;
  readonly inviteButton: RefObject<HTMLElement | null>;
}

export function MemberDialogs(props: MemberDialogsProps): ReactNode {
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
