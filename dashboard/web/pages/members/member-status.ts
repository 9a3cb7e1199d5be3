import type { MemberView } from '#contract/people.ts';
import type { Role } from '#contract/session.ts';

export function canSignIn({ invited, disabled }: MemberView): boolean {
  return !invited && !disabled;
}

/** Owners first, then by address. */
export function findMembers(members: readonly MemberView[], search: string): readonly MemberView[] {
  const text = search.trim().toLowerCase();
  return members
    .filter(({ email }) => email.toLowerCase().includes(text))
    .toSorted((a, b) => b.role.localeCompare(a.role) || a.email.localeCompare(b.email, 'en'));
}

/** Why a member cannot be demoted or removed, or undefined. The server has the same rule. */
export function whyStays(members: readonly MemberView[], member: MemberView, role: Role): string | undefined {
  if (member.role !== 'owner' || role === 'operator') return undefined;
  const others = members.filter((one) => one.role === 'owner' && canSignIn(one) && one.userId !== member.userId);
  return others.length === 0 ? 'This is the last owner: make somebody else an owner first' : undefined;
}
