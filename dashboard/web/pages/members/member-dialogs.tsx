import type { ReactNode } from 'react';
import type { LinkView, MemberView } from '../../../contract/people.ts';
import { useSend } from '../../api/use-send.ts';
import { useToast } from '../../components/toast.tsx';
import { ConfirmDialog } from '../../forms/form-dialog.tsx';

export interface MemberDialogProps {
  readonly organization: string;
  readonly of: MemberView;
  /** The member is who does it. */
  readonly isSelf: boolean;
  readonly onClose: () => void;
}

export function RoleDialog({ organization, of: member, isSelf, onClose }: MemberDialogProps): ReactNode {
  const toast = useToast();
  const role = member.role === 'owner' ? 'member' : 'owner';
  const change = useSend('PATCH /api/organizations/:organization/members/:user', {
    onDone: ({ email }) => {
      toast({ tone: 'good', text: `${email} is ${role === 'owner' ? 'an owner' : 'a member'} now.` });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      onClose={onClose}
      title={role === 'owner' ? `Make ${member.email} an owner?` : `Make ${member.email} a member?`}
      submit={role === 'owner' ? 'Make an owner' : 'Make a member'}
      tone={role === 'owner' ? 'primary' : 'danger'}
      busy={change.isPending}
      problem={change.error}
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
      busy={renew.isPending}
      problem={renew.error}
      onSubmit={() => renew.mutate({ params: { organization, user: member.userId } })}
    >
      Links made for this person before stop working.
    </ConfirmDialog>
  );
}
