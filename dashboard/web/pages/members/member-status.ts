import type { MemberView } from '../../../contract/people.ts';
import type { Role } from '../../../contract/session.ts';

export type MemberState = 'active' | 'invited' | 'disabled';

/** A user who was disabled stays so whether or not the invitation was accepted. */
export function memberState({ invited, disabled }: MemberView): MemberState {
  if (disabled) return 'disabled';
  return invited ? 'invited' : 'active';
}

/** Owners first, each part by address. */
export function findMembers(members: readonly MemberView[], search: string): readonly MemberView[] {
  const text = search.trim().toLowerCase();
  return members
    .filter(({ email }) => email.toLowerCase().includes(text))
    .toSorted((a, b) => b.role.localeCompare(a.role) || a.email.localeCompare(b.email, 'en'));
}

/** Why a member stays an owner, whatever who looks at the list would like, or undefined. The server judges the same way. */
export function whyStays(members: readonly MemberView[], member: MemberView, role: Role): string | undefined {
  if (member.role !== 'owner' || role === 'operator') return undefined;
  const others = members.filter(
    (one) => one.role === 'owner' && memberState(one) === 'active' && one.userId !== member.userId,
  );
  return others.length === 0 ? 'The last owner: make somebody else an owner first' : undefined;
}

/** What is being done to a member in a dialog. */
export interface MemberAction {
  readonly what: 'role' | 'remove' | 'link';
  readonly of: MemberView;
}

export type OnMemberAction = (action: MemberAction | undefined) => void;

export interface MemberDialogProps {
  readonly organization: string;
  readonly of: MemberView;
  /** The member is who does it. */
  readonly isSelf: boolean;
  readonly onClose: () => void;
}
