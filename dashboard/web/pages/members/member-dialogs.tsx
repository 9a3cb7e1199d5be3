import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useState } from 'react';
import type { MemberView } from '#contract/people.ts';
import { countOf } from '#core/count-of.ts';
import { useAsk, useSend } from '../../api/queries.ts';
import { useToast } from '../../components/toast.tsx';
import { RadioGroup, SelectField } from '../../forms/choices.tsx';
import { FormDialog, RequestDialog } from '../../forms/form-dialog.tsx';
import { EmailField } from '../../forms/inputs.tsx';
import type { OpenOverlay } from '../../overlays/dialog.tsx';
import { handOver, INVITING } from '../../people/people.tsx';
import { canSignIn } from './member-status.ts';

interface MemberDialogProps {
  readonly of: MemberView;
  /** The signed-in user, who may be the member. */
  readonly userId: string;
  readonly onClose: () => void;
}

export function RoleDialog({ of: member, userId, onClose }: MemberDialogProps): ReactNode {
  const isSelf = member.userId === userId;
  const role = member.role === 'owner' ? 'member' : 'owner';
  const name = role === 'owner' ? 'an owner' : 'a member';
  return (
    <RequestDialog
      endpoint="PATCH /api/organizations/:organization/members/:user"
      input={{ params: { user: member.userId }, body: { role } }}
      news={({ email }) => `${email} is ${name} now.`}
      onClose={onClose}
      title={`Make ${member.email} ${name}?`}
      submit={`Make ${name}`}
      tone={role === 'owner' ? 'primary' : 'danger'}
    >
      {role === 'owner'
        ? 'Owners manage all keys and members of the organization, including other owners, and see the audit log.'
        : `${isSelf ? 'You' : 'They'} will no longer see the members and the audit log, and can only manage keys that ${isSelf ? 'you' : 'they'} made.`}
    </RequestDialog>
  );
}

interface LinkDialogProps extends Pick<MemberDialogProps, 'of' | 'onClose'> {
  readonly open: OpenOverlay;
}

export function NewLinkDialog(props: LinkDialogProps): ReactNode {
  const { userId, email } = props.of;
  return (
    <RequestDialog
      endpoint="POST /api/organizations/:organization/members/:user/invitation"
      input={{ params: { user: userId } }}
      onDone={(link) => handOver(props.open, email, link)}
      onClose={props.onClose}
      title={`Make a new link for ${email}?`}
      submit="Create new link"
      tone="primary"
    >
      Earlier links for this person stop working.
    </RequestDialog>
  );
}

const ROLES = [
  {
    value: 'member',
    label: 'Member',
    hint: 'Sees everything except members, payments, alerts and the audit log. Manages their own keys.',
  },
  { value: 'owner', label: 'Owner', hint: 'Manages all keys, members, payments and alerts. Sees the audit log.' },
] as const;

export function InviteDialog({ open, onClose }: Pick<LinkDialogProps, 'open' | 'onClose'>): ReactNode {
  const toast = useToast();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<MemberView['role']>('member');
  const invite = useSend('POST /api/organizations/:organization/members', {
    onDone({ member: { email }, link }) {
      onClose();
      // There is no link for users who can sign in already.
      if (link) handOver(open, email, link);
      else toast({ tone: 'good', text: `${email} already has an account and was added.` });
    },
  });
  // Operators are warned once about an existing account, and a second submit confirms. For others
  // this has no effect.
  const warned = invite.error?.fields.email !== undefined;
  return (
    <FormDialog
      {...INVITING}
      onClose={onClose}
      sending={invite}
      onSubmit={() => invite.mutate({ body: { email: email.trim(), role, ...(warned ? { known: true } : {}) } })}
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

type Keys = 'revoke' | 'hand_over';

export interface RemoveDialogProps extends MemberDialogProps {
  /** Gets the focus after the row is removed. */
  readonly inviteButton: RefObject<HTMLElement | null>;
}

export function RemoveDialog(props: RemoveDialogProps): ReactNode {
  const { of: member, userId, onClose, inviteButton } = props;
  const isSelf = member.userId === userId;
  const [keys, setKeys] = useState<Keys>('revoke');
  const owners = useOwners(props);
  const [chosen, setChosen] = useState<string>();
  const heir = owners.find(({ userId }) => userId === chosen) ?? owners[0];
  const navigate = useNavigate();
  const gone = isSelf ? 'You have left the organization.' : `${member.email} was removed.`;
  const onDone = () => {
    onClose();
    if (isSelf) void navigate({ to: '/' });
  };
  const body = keys === 'hand_over' && heir ? { keysTo: heir.userId } : { revokeKeys: true };
  const count = countOf(member.activeKeys, 'active key');
  return (
    <RequestDialog
      endpoint="DELETE /api/organizations/:organization/members/:user"
      input={{ params: { user: member.userId }, body }}
      news={() => gone + keysGone(member, keys === 'revoke' ? undefined : heir)}
      onDone={onDone}
      onClose={onClose}
      afterwards={inviteButton}
      title={isSelf ? 'Leave this organization?' : `Remove ${member.email}?`}
      submit={isSelf ? 'Leave' : 'Remove'}
    >
      <p>{isSelf ? 'You lose' : 'They lose'} access at once.</p>
      {member.activeKeys > 0 && (
        <RadioGroup<Keys>
          label={`${isSelf ? 'Your' : 'Their'} ${count}`}
          value={keys}
          onChange={setKeys}
          choices={[
            {
              value: 'revoke',
              label: member.activeKeys === 1 ? 'Revoke it' : 'Revoke them',
              hint: 'Programs with a copy stop working. This cannot be undone.',
            },
            {
              value: 'hand_over',
              label: member.activeKeys === 1 ? 'Hand it to an owner' : 'Hand them to an owner',
              hint:
                owners.length === 0
                  ? 'There is no other owner who can sign in.'
                  : 'Every program with a copy keeps working. Make a replacement soon.',
              disabled: owners.length === 0,
            },
          ]}
        />
      )}
      {keys === 'hand_over' && heir && (
        <SelectField
          label={member.activeKeys === 1 ? 'New owner of the key' : 'New owner of the keys'}
          required
          value={heir.userId}
          onChange={setChosen}
          choices={owners.map(({ userId, email }) => ({ value: userId, label: email }))}
        />
      )}
    </RequestDialog>
  );
}

/** Owners to whom the keys may be handed over, the signed-in user first. */
function useOwners({ of: { userId: leaver }, userId: self }: MemberDialogProps): readonly MemberView[] {
  const members = useAsk('GET /api/organizations/:organization/members');
  const owners = members.data?.members.filter(
    (member) => member.role === 'owner' && member.userId !== leaver && canSignIn(member),
  );
  return (owners ?? []).toSorted((a, b) => Number(b.userId === self) - Number(a.userId === self));
}

function keysGone({ activeKeys }: MemberView, heir: MemberView | undefined): string {
  if (activeKeys === 0) return '';
  const [one, several] = heir ? ['key belongs', 'keys belong'] : ['key was', 'keys were'];
  return ` ${countOf(activeKeys, one, several)} ${heir ? `to ${heir.email} now` : 'revoked'}.`;
}
