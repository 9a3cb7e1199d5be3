import type pg from 'pg';
import type { MemberView } from '#contract/people.ts';
import { removeReceiver } from '../alerts/alert-settings.ts';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { inTransaction, only, run, sql } from '../connection/connection-pool.ts';
import { handOverKeysOf, revokeKeysOf } from '../keys/keys-of-user.ts';
import { addMemberEvent, insertMembership, lockMembers } from '../users/membership-rows.ts';
import { findUser, IS_INVITED, type MemberRole } from '../users/user-rows.ts';
import { findMember } from './member-rows.ts';

export type AddMemberResult =
  | { readonly kind: 'added'; readonly member: MemberView }
  | { readonly kind: 'already_member'; readonly member: MemberView }
  | { readonly kind: 'unknown_user' | 'unknown_organization' | 'organization_full' };

/** `last_owner`: nobody would be left to manage the organization. Only an operator may do it. */
export type SetRoleResult =
  | { readonly kind: 'done'; readonly member: MemberView }
  | { readonly kind: 'not_a_member' | 'last_owner' };
export type RemoveMemberResult = { readonly kind: 'removed' | 'not_a_member' | 'last_owner' | 'no_such_owner' };

/** Keys of a leaving member, who may have copies: they are revoked, or an owner takes them over. */
export type KeysOfLeaver = 'revoke' | { readonly handTo: string };

/** `may_go`: the last owner may leave or become a member. Only operators may use it. */
export type LastOwner = 'must_stay' | 'may_go';

const LOCK_USER = sql('lock_new_member')`select from users where id = $1 for no key update`;
const SET_ROLE = sql('set_role')`update memberships set role = $3 where organization_id = $1 and user_id = $2`;
const REMOVE = sql('remove_membership')`delete from memberships where organization_id = $1 and user_id = $2`;
/** Checks for other owners who can sign in. */
const OTHER_OWNERS = sql('other_owners')`
  select exists (
      select from memberships m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.user_id <> $2 and m.role = 'owner' and u.disabled_at is null and not ${IS_INVITED}
    ) as found`;

/** Adds an existing user to an organization. */
export async function addMember(
  pool: pg.Pool,
  organizationId: string,
  userId: string,
  role: MemberRole,
  by: Actor,
): Promise<AddMemberResult> {
  return inTransaction(pool, 'begin', async (client): Promise<AddMemberResult> => {
    const state = await lockMembers(client, organizationId);
    if (state === 'unknown_organization') return { kind: state };
    const before = await findMember(client, organizationId, userId);
    if (before) return { kind: 'already_member', member: before };
    if (state !== 'open') return { kind: state };
    await run(client, LOCK_USER, [userId]);
    const user = await findUser(client, userId);
    if (!user) return { kind: 'unknown_user' };
    await insertMembership(client, organizationId, userId, role);
    const member = await present(client, organizationId, userId);
    await addMemberEvent(client, 'user.added', organizationId, user, changesBetween({}, { role }), by);
    return { kind: 'added', member };
  });
}

export async function setRole(
  pool: pg.Pool,
  organizationId: string,
  userId: string,
  role: MemberRole,
  lastOwner: LastOwner,
  by: Actor,
): Promise<SetRoleResult> {
  return inTransaction(pool, 'begin', async (client): Promise<SetRoleResult> => {
    await lockMembers(client, organizationId);
    const before = await findMember(client, organizationId, userId);
    if (!before) return { kind: 'not_a_member' };
    if (before.role === role) return { kind: 'done', member: before };
    if (await isLastOwner(client, organizationId, before, lastOwner)) return { kind: 'last_owner' };
    await run(client, SET_ROLE, [organizationId, userId, role]);
    const changes = changesBetween({ role: before.role }, { role });
    await addMemberEvent(client, 'user.role_changed', organizationId, { id: userId, email: before.email }, changes, by);
    return { kind: 'done', member: await present(client, organizationId, userId) };
  });
}

/**
 * Removes a member. A user with a password stays a user. `no_such_owner`: the keys cannot be handed
 * to that user. Rights end with the next request, because each reads memberships again.
 */
export async function removeMember(
  pool: pg.Pool,
  organizationId: string,
  userId: string,
  lastOwner: LastOwner,
  by: Actor,
  keys: KeysOfLeaver = 'revoke',
): Promise<RemoveMemberResult> {
  return inTransaction(pool, 'begin', async (client): Promise<RemoveMemberResult> => {
    await lockMembers(client, organizationId);
    const before = await findMember(client, organizationId, userId);
    if (!before) return { kind: 'not_a_member' };
    if (await isLastOwner(client, organizationId, before, lastOwner)) return { kind: 'last_owner' };
    const heir = keys === 'revoke' ? undefined : await findMember(client, organizationId, keys.handTo);
    if (keys !== 'revoke' && !(heir && heir.userId !== userId && mayInherit(heir))) return { kind: 'no_such_owner' };
    await run(client, REMOVE, [organizationId, userId]);
    if (heir) await handOverKeysOf(client, organizationId, before, heir, by);
    else await revokeKeysOf(client, organizationId, userId, by);
    const changes = changesBetween({ role: before.role }, {});
    await addMemberEvent(client, 'user.removed', organizationId, { id: userId, email: before.email }, changes, by);
    await removeReceiver(client, organizationId, before.email, by);
    return { kind: 'removed' };
  });
}

function mayInherit({ role, invited, disabled }: MemberView): boolean {
  return role === 'owner' && !invited && !disabled;
}

async function isLastOwner(
  client: pg.PoolClient,
  organizationId: string,
  { userId, role }: MemberView,
  lastOwner: LastOwner,
): Promise<boolean> {
  if (role !== 'owner' || lastOwner === 'may_go') return false;
  return !(await only<{ found: boolean }>(client, OTHER_OWNERS, [organizationId, userId])).found;
}

async function present(client: pg.PoolClient, organizationId: string, userId: string): Promise<MemberView> {
  const member = await findMember(client, organizationId, userId);
  if (!member) throw new Error('a membership vanished in the transaction that changed it');
  return member;
}
