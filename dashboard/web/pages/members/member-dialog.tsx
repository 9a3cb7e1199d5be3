import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useRef, useState } from 'react';
import { countOf } from '../../../../ext-proc/domain/count-of.ts';
import type { LinkView, MemberView } from '../../../contract/people.ts';
import { useSend } from '../../api/use-send.ts';
import { Checkbox } from '../../components/checkbox.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { useToast } from '../../components/toast.tsx';

import styles from './members.module.css';

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
      open
      onClose={onClose}
      title={role === 'owner' ? `Make ${member.email} an owner?` : `Make ${member.email} a member?`}
      confirm={role === 'owner' ? 'Make an owner' : 'Make a member'}
      tone={role === 'owner' ? 'primary' : 'danger'}
      busy={change.isPending}
      problem={change.error}
      onConfirm={() => change.mutate({ params: { organization, user: member.userId }, body: { role } })}
    >
      {role === 'owner'
        ? 'Owners manage all keys and members of the organization, other owners too, and see the audit log.'
        : `${isSelf ? 'You' : 'They'} will no longer see members and audit log, and manage only keys that ${isSelf ? 'you' : 'they'} made.`}
    </ConfirmDialog>
  );
}

export interface RemoveDialogProps extends MemberDialogProps {
  /** Takes the focus of the row that is gone. */
  readonly inviteButton: RefObject<HTMLElement | null>;
}

export function RemoveDialog({
  organization,
  of: member,
  isSelf,
  onClose,
  inviteButton,
}: RemoveDialogProps): ReactNode {
  const finalFocus = useRef<HTMLElement>(null);
  const [revokeKeys, setRevokeKeys] = useState(false);
  const toast = useToast();
  const navigate = useNavigate();
  const remove = useSend('DELETE /api/organizations/:organization/members/:user', {
    onDone: () => {
      const keys = revokeKeys ? ` ${countOf(member.activeKeys, 'key was', 'keys were')} revoked.` : '';
      const gone = isSelf ? 'You have left the organization.' : `${member.email} was removed.`;
      toast({ tone: 'good', text: gone + keys });
      finalFocus.current = inviteButton.current;
      onClose();
      if (isSelf) void navigate({ to: '/' });
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={isSelf ? 'Leave this organization?' : `Remove ${member.email}?`}
      finalFocus={finalFocus}
      confirm={isSelf ? 'Leave' : 'Remove'}
      busy={remove.isPending}
      problem={remove.error}
      onConfirm={() => remove.mutate({ params: { organization, user: member.userId }, body: { revokeKeys } })}
    >
      <div className={styles.removal}>
        <p>{isSelf ? 'You lose' : 'They lose'} access at once.</p>
        {member.activeKeys > 0 && (
          <Checkbox
            label={`Revoke ${countOf(member.activeKeys, 'active key')} that ${isSelf ? 'you' : 'they'} made`}
            hint="Keys belong to the organization and go on working, also for whoever has a copy. Revoking cannot be undone."
            checked={revokeKeys}
            onChange={setRevokeKeys}
          />
        )}
      </div>
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
      open
      onClose={onClose}
      title={`Make a new link for ${member.email}?`}
      confirm="Make new link"
      tone="primary"
      busy={renew.isPending}
      problem={renew.error}
      onConfirm={() => renew.mutate({ params: { organization, user: member.userId } })}
    >
      Links made for this person before stop working.
    </ConfirmDialog>
  );
}
