import { changedMember, type LinkView, type MemberView, newMember, removedMember } from '#contract/people.ts';
import { newId } from '#core/ids.ts';
import {
  invite as inviteByAddress,
  renewInvitation,
  setInvitedRole,
  withdrawInvitation,
} from '#database/members/invitations.ts';
import { findMember, membersOf } from '#database/members/member-rows.ts';
import { addMember, type KeysOfLeaver, type LastOwner, removeMember, setRole } from '#database/members/memberships.ts';
import { findUserByEmail, type MemberRole, type UserRecord } from '#database/users/user-rows.ts';
import { handOver, handOverPasswordLink, invitationMail } from '../alerts/link-mail.ts';
import { conflictingField, isProblem, notFound, type Problem, problem, wrongField } from '../http/problem.ts';
import { actorOf, type OrganizationCall, type Route, route } from '../http/route.ts';
import { linkWith } from '../sign-in/links.ts';
import { newToken } from '../sign-in/session-token.ts';

type Invited = { readonly member: MemberView; readonly link?: LinkView };

export const MEMBER_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/members', {
    access: 'owner',
    handle: async ({ deps, organizationId }) => ({ members: await membersOf(deps.database, organizationId) }),
  }),
  route('POST /api/organizations/:organization/members', {
    access: 'owner',
    input: newMember,
    async handle(call) {
      const { input, deps } = call;
      if (call.role !== 'operator') return invite(call, input);
      const user = await findUserByEmail(deps.database, input.email);
      return user ? add(call, user, input) : invite(call, input);
    },
  }),
  route('PATCH /api/organizations/:organization/members/:user', {
    access: 'owner',
    input: changedMember,
    async handle(call) {
      const { deps, organizationId, params, input } = call;
      const { database } = deps;
      const result = await setRole(database, organizationId, params.user, input.role, lastOwner(call), actorOf(call));
      if (result.kind === 'not_a_member') {
        const invited = await setInvitedRole(database, organizationId, params.user, input.role, actorOf(call));
        return invited ?? notFound('member');
      }
      return result.kind === 'done' ? result.member : NOBODY_LEFT;
    },
  }),
  route('DELETE /api/organizations/:organization/members/:user', {
    access: 'owner',
    endsAccess: true,
    input: removedMember,
    async handle(call) {
      const { deps, organizationId, params, input } = call;
      const { database } = deps;
      const keys = keysOfLeaver(call, input);
      if (keys !== 'revoke' && isProblem(keys)) return keys;
      const result = await removeMember(database, organizationId, params.user, lastOwner(call), actorOf(call), keys);
      if (result.kind === 'not_a_member') {
        const invitation = { organizationId, id: params.user, byOperator: call.role === 'operator' };
        const withdrawn = await withdrawInvitation(database, invitation, actorOf(call));
        if (withdrawn === 'operators_own') return operatorsOwn('to withdraw the invitation');
        return withdrawn === 'withdrawn' ? {} : notFound('member');
      }
      if (result.kind === 'no_such_owner') return CHOOSE_OWNER;
      return result.kind === 'last_owner' ? NOBODY_LEFT : {};
    },
  }),
  route('POST /api/organizations/:organization/members/:user/invitation', {
    access: 'owner',
    // The link may open an operator's account.
    needsFreshPassword: (_, role) => role === 'operator',
    handle: (call) => newInvitationLink(call, call.params.user),
  }),
];

interface Addition {
  readonly email: string;
  readonly role: MemberRole;
  /** The operator confirms that the existing account belongs to this person. */
  readonly known?: true;
}

async function add(call: OrganizationCall, user: UserRecord, { role, known }: Addition): Promise<Invited | Problem> {
  const { deps, organizationId } = call;
  if (!known && !(await findMember(deps.database, organizationId, user.id))) {
    return conflictingField('email', somebodysAccount(user));
  }
  const result = await addMember(deps.database, organizationId, user.id, role, actorOf(call));
  return result.kind === 'added' ? { member: result.member } : NOT_ADDED[result.kind];
}

function somebodysAccount({ cameThrough }: UserRecord): string {
  const origin = cameThrough === undefined ? '' : `, made by an invitation of an owner of “${cameThrough}”`;
  return `Has an account already${origin}, and its address was never verified. Invite again if you know that the account belongs to this person.`;
}

/** The response does not reveal whether the address has an account. */
async function invite(call: OrganizationCall, { email: address, role }: Addition): Promise<Invited | Problem> {
  const { deps, organizationId } = call;
  const { token, tokenHash } = newToken();
  const byOperator = call.role === 'operator';
  const invitation = { id: newId('usr', deps.nowMs()), organizationId, email: address, role, tokenHash, byOperator };
  const result = await inviteByAddress(deps.database, invitation, actorOf(call));
  if (result.kind !== 'invited') return NOT_ADDED[result.kind];
  const { member, expiresAtMs } = result;
  const made = linkWith(token, expiresAtMs, call.caller);
  const link = await handOverInvitation(call, member.userId, address, made);
  return isProblem(link) ? link : { member, link };
}

async function newInvitationLink(call: OrganizationCall, id: string): Promise<LinkView | Problem> {
  const { deps, organizationId } = call;
  const { token, tokenHash } = newToken();
  const byOperator = call.role === 'operator';
  const renewed = await renewInvitation(deps.database, { organizationId, id, tokenHash, byOperator }, actorOf(call));
  switch (renewed.kind) {
    case 'renewed':
      return handOverInvitation(call, id, renewed.email, linkWith(token, renewed.expiresAtMs, call.caller));
    case 'operators_own':
      return operatorsOwn('for a new link');
    case 'not_invited': {
      const member = await findMember(deps.database, organizationId, id);
      if (!member) return notFound('member');
      // A password link gives access to all organizations of the user, so an owner may not make
      // one.
      return member.invited && !byOperator
        ? operatorsOwn('for a new link')
        : handOverPasswordLink(call, { userId: id, purpose: 'invitation', email: member.email });
    }
  }
}

function handOverInvitation(call: OrganizationCall, id: string, email: string, link: LinkView) {
  const { organizationId, caller } = call;
  return handOver(call, link, invitationMail({ organizationId, id, email, origin: caller.origin }));
}

function operatorsOwn(wish: string): Problem {
  return problem('conflict', `The operator invited this person: ask there ${wish}.`);
}

/** Keys are revoked unless they are handed over, by default to the caller. */
function keysOfLeaver(
  { session, params }: OrganizationCall,
  { revokeKeys, keysTo }: { readonly revokeKeys?: boolean; readonly keysTo?: string },
): KeysOfLeaver | Problem {
  if (keysTo !== undefined) {
    return revokeKeys ? wrongField('keysTo', 'Revoked keys cannot be handed over.') : { handTo: keysTo };
  }
  if (revokeKeys !== false) return 'revoke';
  return params.user === session.user.id ? CHOOSE_OWNER : { handTo: session.user.id };
}

const CHOOSE_OWNER = wrongField('keysTo', 'Choose another owner of the organization as the new owner of the keys.');

function lastOwner({ role }: OrganizationCall): LastOwner {
  return role === 'operator' ? 'may_go' : 'must_stay';
}

const NOBODY_LEFT = problem('conflict', 'The organization needs an owner: make another member an owner first.');

export const ORGANIZATION_FULL = problem('conflict', 'The organization has the maximum number of members.');

const NOT_ADDED = {
  already_member: conflictingField('email', 'This person is already a member.'),
  already_invited: conflictingField(
    'email',
    'This person is already invited. You can make a new link in the list of members.',
  ),
  unknown_user: notFound('user'),
  unknown_organization: notFound('organization'),
  organization_full: ORGANIZATION_FULL,
};
