import type { SignedIn } from '../../../database/sign-in/sessions.ts';
import type { Role } from '../../contract/session.ts';

/** `undefined`: none of the organization's people. */
export function roleIn(
  { user, memberships }: Pick<SignedIn, 'user' | 'memberships'>,
  organizationId: string,
): Role | undefined {
  if (user.isOperator) return 'operator';
  return memberships.find((membership) => membership.organizationId === organizationId)?.role;
}
