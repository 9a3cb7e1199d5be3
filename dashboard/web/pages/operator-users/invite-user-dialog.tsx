import { type ReactNode, useState } from 'react';
import type { UserRow } from '#contract/operator.ts';
import type { LinkView } from '#contract/people.ts';
import { useSend } from '../../api/use-send.ts';
import { RadioGroup } from '../../forms/choices.tsx';
import { Field } from '../../forms/field.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { EmailField } from '../../forms/text-input.tsx';
import { OrganizationPicker } from '../../shell/organization-picker.tsx';
import { type InviteDraft, inviteBody, lacksOrganization } from './invite-draft.ts';

export interface InviteUserDialogProps {
  readonly onClose: () => void;
  readonly onInvited: (user: UserRow, link: LinkView) => void;
}

const ROLES = [
  { value: 'owner', label: 'Owner of an organization', hint: 'Manages its keys and members, and sees its audit log.' },
  {
    value: 'member',
    label: 'Member of an organization',
    hint: 'Sees its usage and requests, and makes keys of their own.',
  },
  { value: 'operator', label: 'Operator', hint: 'Everything, in every organization. For people who run this gateway.' },
] as const;

export function InviteUserDialog({ onClose, onInvited }: InviteUserDialogProps): ReactNode {
  const [draft, setDraft] = useState<InviteDraft>({ email: '', as: 'owner', organizationId: undefined });
  const invite = useSend('POST /api/users', {
    changes: ['GET /api/users'],
    onDone: ({ user, link }) => onInvited(user, link),
  });
  const [lacking, setLacking] = useState(false);
  const submit = () => {
    setLacking(lacksOrganization(draft));
    if (!lacksOrganization(draft)) invite.mutate({ body: inviteBody(draft) });
  };
  const set = (next: Partial<InviteDraft>) => {
    setDraft({ ...draft, ...next });
    setLacking(false);
    if (invite.error) invite.reset();
  };
  const problems = invite.error?.fields ?? {};
  return (
    <FormDialog
      onClose={onClose}
      title="Invite somebody"
      description="They get a link by mail. Without a mail server you get it, to hand it over."
      submit="Invite"
      sending={invite}
      onSubmit={submit}
    >
      <EmailField value={draft.email} onChange={(email) => set({ email })} error={problems.email} />
      <RadioGroup label="Invite as" value={draft.as} onChange={(as) => set({ as })} choices={ROLES} />
      {draft.as !== 'operator' && (
        <OrganizationField
          value={draft.organizationId}
          onChange={(organizationId) => set({ organizationId })}
          error={lacking ? 'Choose an organization.' : (problems.organizationId ?? problems.role)}
        />
      )}
    </FormDialog>
  );
}

export interface OrganizationFieldProps {
  readonly value: string | undefined;
  readonly onChange: (id: string) => void;
  readonly error: string | undefined;
}

export function OrganizationField({ value, onChange, error }: OrganizationFieldProps): ReactNode {
  return (
    <Field label="Organization" required error={error}>
      <OrganizationPicker value={value} onChange={onChange} placeholder="Choose an organization…" />
    </Field>
  );
}
