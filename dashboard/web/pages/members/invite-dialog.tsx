import { type ReactNode, useState } from 'react';
import type { LinkView, MemberView } from '#contract/people.ts';
import { useSend } from '../../api/use-send.ts';
import { RadioGroup } from '../../forms/choices.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { EmailField } from '../../forms/text-input.tsx';

export interface InviteDialogProps {
  readonly organization: string;
  readonly onClose: () => void;
  /** Without a link for a user who can sign in already. */
  readonly onInvited: (member: MemberView, link: LinkView | undefined) => void;
}

const ROLES = [
  {
    value: 'member',
    label: 'Member',
    hint: 'Sees everything but members, payments, alerts and audit log, and makes and manages keys of their own.',
  },
  { value: 'owner', label: 'Owner', hint: 'Manages all keys, members, payments and alerts, and sees the audit log.' },
] as const;

export function InviteDialog({ organization, onClose, onInvited }: InviteDialogProps): ReactNode {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<MemberView['role']>('member');
  const invite = useSend('POST /api/organizations/:organization/members', {
    changes: ['GET /api/organizations/:organization/members'],
    onDone: ({ member, link }) => onInvited(member, link),
  });
  // Operators are warned once about an existing account; a second submit confirms. It has no effect
  // for others.
  const warned = invite.error?.fields.email !== undefined;
  return (
    <FormDialog
      onClose={onClose}
      title="Invite somebody"
      description="They get a link by mail. Without a mail server you get it, to hand it over."
      submit="Invite"
      sending={invite}
      onSubmit={() =>
        invite.mutate({
          params: { organization },
          body: { email: email.trim(), role, ...(warned ? { known: true } : {}) },
        })
      }
    >
      <EmailField
        value={email}
        onChange={(next) => {
          setEmail(next);
          if (invite.error) invite.reset();
        }}
        error={invite.error?.fields.email}
      />
      <RadioGroup label="Role" value={role} onChange={setRole} choices={ROLES} />
    </FormDialog>
  );
}
