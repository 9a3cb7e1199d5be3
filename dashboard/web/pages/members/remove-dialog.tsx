import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useRef, useState } from 'react';
import type { MemberView } from '#contract/people.ts';
import { countOf } from '#core/count-of.ts';
import { useAsk } from '../../api/use-ask.ts';
import { useSend } from '../../api/use-send.ts';
import { useToast } from '../../components/toast.tsx';
import { RadioGroup } from '../../forms/choices.tsx';
import { Field } from '../../forms/field.tsx';
import { ConfirmDialog } from '../../forms/form-dialog.tsx';
import { Select } from '../../forms/select.tsx';
import type { MemberDialogProps } from './member-status.ts';
import styles from './members.module.css';

export interface RemoveDialogProps extends MemberDialogProps {
  /** The signed-in user. */
  readonly userId: string;
  /** Gets the focus of the removed row. */
  readonly inviteButton: RefObject<HTMLElement | null>;
}

type Keys = 'revoke' | 'hand_over';

export function RemoveDialog(props: RemoveDialogProps): ReactNode {
  const { organization, of: member, isSelf, onClose, inviteButton } = props;
  const finalFocus = useRef<HTMLElement>(null);
  const [keys, setKeys] = useState<Keys>('revoke');
  const owners = useOwners(props);
  const [chosen, setChosen] = useState<string>();
  const heir = owners.find(({ userId }) => userId === chosen) ?? owners[0];
  const toast = useToast();
  const navigate = useNavigate();
  const remove = useSend('DELETE /api/organizations/:organization/members/:user', {
    onDone: () => {
      const gone = isSelf ? 'You have left the organization.' : `${member.email} was removed.`;
      toast({ tone: 'good', text: gone + keysGone(member, keys === 'revoke' ? undefined : heir) });
      finalFocus.current = inviteButton.current;
      onClose();
      if (isSelf) void navigate({ to: '/' });
    },
  });
  const body = keys === 'hand_over' && heir ? { keysTo: heir.userId } : { revokeKeys: true };
  const count = countOf(member.activeKeys, 'active key');
  return (
    <ConfirmDialog
      onClose={onClose}
      title={isSelf ? 'Leave this organization?' : `Remove ${member.email}?`}
      finalFocus={finalFocus}
      submit={isSelf ? 'Leave' : 'Remove'}
      sending={remove}
      onSubmit={() => remove.mutate({ params: { organization, user: member.userId }, body })}
    >
      <div className={styles.removal}>
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
                hint: 'Every program with a copy stops working. This cannot be undone.',
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
          <Field label={member.activeKeys === 1 ? 'New owner of the key' : 'New owner of the keys'} required>
            <Select
              value={heir.userId}
              onChange={setChosen}
              choices={owners.map(({ userId, email }) => ({ value: userId, label: email }))}
            />
          </Field>
        )}
      </div>
    </ConfirmDialog>
  );
}

/** Owners who may take the keys, the user first. */
function useOwners({ organization, of: { userId: leaver }, userId: self }: RemoveDialogProps): readonly MemberView[] {
  const members = useAsk('GET /api/organizations/:organization/members', { params: { organization } });
  const owners = members.data?.members.filter(
    ({ role, userId, invited, disabled }) => role === 'owner' && userId !== leaver && !invited && !disabled,
  );
  return (owners ?? []).toSorted((a, b) => Number(b.userId === self) - Number(a.userId === self));
}

function keysGone({ activeKeys }: MemberView, heir: MemberView | undefined): string {
  if (activeKeys === 0) return '';
  const [one, several] = heir ? ['key belongs', 'keys belong'] : ['key was', 'keys were'];
  return ` ${countOf(activeKeys, one, several)} ${heir ? `to ${heir.email} now` : 'revoked'}.`;
}
