import type { Role } from '#contract/session.ts';
import { findOrganization } from '#database/organizations/organization-rows.ts';
import type { SignedIn } from '#database/sign-in/sessions.ts';
import { notFound, type Problem, problem } from './http/problem.ts';
import type { Access, Deps } from './http/route.ts';
import { roleIn } from './sign-in/session.ts';

/** Rights that a route can rely on, depending on its access. */
export interface Granted {
  readonly session?: SignedIn;
  readonly organizationId?: string;
  readonly role?: Role;
}

const RANK: Readonly<Record<Role, number>> = { member: 1, owner: 2, operator: 3 };

export async function authorize(
  { entry }: Pick<Deps, 'entry'>,
  access: Access,
  session: SignedIn | undefined,
  organizationId: string | undefined,
): Promise<Granted | Problem> {
  if (access === 'anyone') return session === undefined ? {} : { session };
  if (session === undefined) return problem('not_signed_in', 'Sign in first.');
  if (organizationId === undefined) {
    if (access === 'user' || session.user.isOperator) return { session };
    return problem('not_allowed', 'Only operators may do this.');
  }
  const role = roleIn(session, organizationId);
  // Only members of an organization and operators may learn whether it exists.
  if (role === undefined) return notFound('organization');
  if (role === 'operator' && !(await findOrganization(entry, organizationId))) return notFound('organization');
  if (access !== 'user' && RANK[role] < RANK[access]) return problem('not_allowed', `Only an ${access} may do this.`);
  return { session, organizationId, role };
}
