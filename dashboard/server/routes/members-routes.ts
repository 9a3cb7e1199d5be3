import { z } from 'zod';
import { newId } from '../../../ext-proc/domain/ids.ts';
import type { LinkView, MemberView } from '../../contract/people.ts';
import { findMember, membersOf } from '../../store/member-rows.ts';
import { type AddMemberResult, addMember, type LastOwner, removeMember, setRole } from '../../store/memberships.ts';
import { findUserByEmail, type MemberRole, type UserRecord } from '../../store/user-rows.ts';
import { createUser } from '../../store/users.ts';
import { conflictingField, isProblem, notFound, type Problem, problem } from '../http/problem.ts';
import { type OrganizationCall, type Route, route } from '../route.ts';
import { actorOf } from '../sign-in/actor.ts';
import { makePasswordLink } from '../sign-in/password-link.ts';
import { email, nothing } from './input-fields.ts';

export const memberRole = z.enum(['owner', 'member'], { error: 'Owner or member.' });

const SOMEBODYS_ACCOUNT =
  'Has an account already, and nobody proved whose address it is. Invite again if you know that the account is this person’s.';

type Invited = { readonly member: MemberView; readonly link?: LinkView };

export const MEMBER_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/members', {
    access: 'owner',
    input: nothing,
    answer: async ({ deps, organizationId }) => ({ members: await membersOf(deps.database, organizationId) }),
  }),
  route('POST /api/organizations/:organization/members', {
    access: 'owner',
    input: z.strictObject({ email, role: memberRole, known: z.literal(true).exactOptional() }),
    async answer(call) {
      const { input, deps } = call;
      const user = await findUserByEmail(deps.database, input.email);
      return user ? add(call, user, input) : invite(call, input);
    },
  }),
  route('PATCH /api/organizations/:organization/members/:user', {
    access: 'owner',
    input: z.strictObject({ role: memberRole }),
    async answer(call) {
      const { deps, organizationId, params, input } = call;
      const { database } = deps;
      const result = await setRole(database, organizationId, params.user, input.role, lastOwner(call), actorOf(call));
      if (result.kind === 'not_a_member') return notFound('member');
      return result.kind === 'last_owner' ? nobodyLeft() : result.member;
    },
  }),
  route('DELETE /api/organizations/:organization/members/:user', {
    access: 'owner',
    endsAccess: true,
    input: z.strictObject({ revokeKeys: z.boolean().exactOptional() }),
    async answer(call) {
      const { deps, organizationId, params, input } = call;
      const { database } = deps;
      const keys = input.revokeKeys ? 'revoke' : 'work_on';
      const result = await removeMember(database, organizationId, params.user, lastOwner(call), actorOf(call), keys);
      if (result.kind === 'not_a_member') return notFound('member');
      return result.kind === 'last_owner' ? nobodyLeft() : {};
    },
  }),
  route('POST /api/organizations/:organization/members/:user/invitation', {
    access: 'owner',
    input: nothing,
    async answer(call) {
      const { deps, organizationId, params } = call;
      const member = await findMember(deps.database, organizationId, params.user);
      return member ? makePasswordLink(call, invitationOf(call, params.user)) : notFound('member');
    },
  }),
];

interface Addition {
  readonly role: MemberRole;
  /** Whoever asks knows that this account is the person's. */
  readonly known?: true;
}

async function add(call: OrganizationCall, user: UserRecord, { role, known }: Addition): Promise<Invited | Problem> {
  const { deps, organizationId } = call;
  // Nothing proves that an address is its user's: whoever invited him first may have used the link himself, and would get in here.
  if (!(await findMember(deps.database, organizationId, user.id))) {
    if (call.role !== 'operator') {
      return conflictingField('email', 'Has an account already. Ask the operator to add this person.');
    }
    if (!known) return conflictingField('email', SOMEBODYS_ACCOUNT);
  }
  const result = await addMember(deps.database, organizationId, user.id, role, actorOf(call));
  return result.kind === 'added' ? { member: result.member } : notAdded(result);
}

function notAdded({ kind }: Exclude<AddMemberResult, { kind: 'added' }>): Problem {
  switch (kind) {
    case 'already_member':
      return conflictingField('email', 'Is a member already.');
    case 'not_here_yet':
      return conflictingField('email', 'Has been invited before and has to accept that invitation first.');
    case 'unknown_user':
      return notFound('user');
    case 'unknown_organization':
      return notFound('organization');
    case 'organization_full':
      return organizationFull();
  }
}

async function invite(
  call: OrganizationCall,
  { email: address, role }: { readonly email: string; readonly role: MemberRole },
): Promise<Invited | Problem> {
  const { deps, organizationId } = call;
  const userId = newId('usr', deps.nowMs());
  const result = await createUser(
    deps.database,
    { id: userId, email: address, isOperator: false, membership: { organizationId, role } },
    actorOf(call),
  );
  switch (result.kind) {
    case 'created': {
      const member = await findMember(deps.database, organizationId, userId);
      const link = await makePasswordLink(call, invitationOf(call, userId));
      if (isProblem(link)) return link;
      return member ? { member, link } : notFound('member');
    }
    // Somebody else invited the same person within these milliseconds.
    case 'email_taken':
      return conflictingField('email', 'Was invited at this very moment. Try again.');
    case 'unknown_organization':
      return notFound('organization');
    case 'organization_full':
      return organizationFull();
  }
}

function invitationOf({ role, organizationId }: OrganizationCall, userId: string) {
  return { userId, purpose: 'invitation', ...(role === 'operator' ? {} : { organizationId }) } as const;
}

function lastOwner({ role }: OrganizationCall): LastOwner {
  return role === 'operator' ? 'may_go' : 'must_stay';
}

function nobodyLeft(): Problem {
  return problem('conflict', 'Somebody has to own the organization: make another member an owner first.');
}

export function organizationFull(): Problem {
  return problem('conflict', 'The organization has as many members as it can.');
}
