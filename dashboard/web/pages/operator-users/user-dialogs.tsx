import { type ReactNode, useState } from 'react';
import type { UserRow } from '#contract/operator.ts';
import { useSend } from '../../api/queries.ts';
import { Checkbox, RadioGroup } from '../../forms/choices.tsx';
import { asField, fieldsOf } from '../../forms/field.tsx';
import { FormDialog, RequestDialog } from '../../forms/form-dialog.tsx';
import { EmailField } from '../../forms/inputs.tsx';
import type { OpenOverlay } from '../../overlays/dialog.tsx';
import { handOver, INVITING } from '../../people/people.tsx';
import { OrganizationPicker } from '../../shell/organization-switcher.tsx';
import { type InviteDraft, inviteBody } from './invite-draft.ts';

const ROLES = [
  { value: 'owner', label: 'Owner of an organization', hint: 'Manages its keys and members, and sees its audit log.' },
  {
    value: 'member',
    label: 'Member of an organization',
    hint: 'Sees usage and requests, and manages their own keys.',
  },
  { value: 'operator', label: 'Operator', hint: 'Full access to every organization. For people who run this gateway.' },
] as const;
const OrganizationField = asField(OrganizationPicker);

export function InviteUserDialog({ open, onClose }: Pick<LinkDialogProps, 'open' | 'onClose'>): ReactNode {
  const [draft, setDraft] = useState<InviteDraft>({ email: '', as: 'owner', organizationId: undefined });
  const invite = useSend('POST /api/users', {
    onDone({ user: { email }, link }) {
      onClose();
      handOver(open, email, link);
    },
  });
  const change = (next: InviteDraft) => {
    setDraft(next);
    if (invite.error) invite.reset();
  };
  const problems = invite.error?.fields ?? {};
  const field = fieldsOf(draft, change, problems);
  return (
    <FormDialog
      {...INVITING}
      onClose={onClose}
      sending={invite}
      onSubmit={() => invite.mutate({ body: inviteBody(draft) })}
    >
      <EmailField {...field('email')} />
      <RadioGroup label="Invite as" {...field('as')} choices={ROLES} />
      {draft.as !== 'operator' && (
        <OrganizationField
          label="Organization"
          required
          placeholder="Choose an organization…"
          {...field('organizationId')}
          error={problems.organizationId ?? problems.role}
        />
      )}
    </FormDialog>
  );
}

interface UserDialogProps {
  readonly of: UserRow;
  readonly onClose: () => void;
}

interface LinkDialogProps extends UserDialogProps {
  readonly open: OpenOverlay;
}

export function PasswordLinkDialog(props: LinkDialogProps): ReactNode {
  const { id, email, invited } = props.of;
  return (
    <RequestDialog
      endpoint="POST /api/users/:user/reset"
      input={{ params: { user: id } }}
      onDone={(link) => handOver(props.open, email, link)}
      onClose={props.onClose}
      title={invited ? `Make a new invitation link for ${email}?` : `Make a link to reset the password of ${email}?`}
      submit="Create link"
      tone="primary"
    >
      {invited
        ? 'Earlier links for this person stop working.'
        : 'The link goes by mail, or you pass it on. With it the person chooses a new password, which ends all of their sessions. Until then the old password works. Earlier links stop working.'}
    </RequestDialog>
  );
}

export function DisablementDialog({ of: { id, email, disabledAtMs }, onClose }: UserDialogProps): ReactNode {
  const [revokesKeys, setRevokesKeys] = useState(true);
  const params = { user: id };
  if (disabledAtMs !== undefined) {
    return (
      <RequestDialog
        endpoint="DELETE /api/users/:user/disablement"
        input={{ params }}
        news={() => `${email} can sign in again`}
        onClose={onClose}
        title={`Enable ${email}?`}
        submit="Enable"
        tone="primary"
      >
        They can sign in again with their password. Their organizations are unchanged.
      </RequestDialog>
    );
  }
  return (
    <RequestDialog
      endpoint="POST /api/users/:user/disablement"
      input={{ params, body: { keepKeys: !revokesKeys } }}
      news={() => `${email} is signed out and disabled`}
      onClose={onClose}
      title={`Disable ${email}?`}
      submit="Disable"
    >
      <p>They are signed out everywhere at once and cannot sign in until they are enabled again.</p>
      <Checkbox
        label="Revoke their API keys"
        hint="In every organization. Otherwise programs with a copy keep working. This cannot be undone."
        value={revokesKeys}
        onChange={setRevokesKeys}
      />
    </RequestDialog>
  );
}
