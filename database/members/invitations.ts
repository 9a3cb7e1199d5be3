import type pg from 'pg';
import type { MemberView } from '#contract/people.ts';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { inTransaction, only, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { addMemberEvent, lockMembers } from '../users/membership-rows.ts';
import type { MemberRole } from '../users/user-rows.ts';

/** Invitation of an email address to an organization, whether or not it has an account. */
export interface NewInvitation {
  /** Id that the user gets if accepting creates one. */
  readonly id: string;
  readonly organizationId: string;
  /** Normalized by normalizeEmail(). */
  readonly email: string;
  readonly role: MemberRole;
  /** SHA-256 of the 32 random bytes that the link carries. */
  readonly tokenHash: Buffer;
  /** True: owners of the organization cannot make a link for it. */
  readonly byOperator: boolean;
}

export type InviteResult =
  | { readonly kind: 'invited'; readonly member: MemberView; readonly expiresAtMs: number }
  | { readonly kind: 'already_member' | 'already_invited' | 'unknown_organization' | 'organization_full' };

export type RenewResult =
  | { readonly kind: 'renewed'; readonly email: string; readonly expiresAtMs: number }
  | { readonly kind: 'not_invited' | 'operators_own' };

const LIVES_FOR = "interval '7 days'";
const COLUMNS = `id, email, role, by_operator as "byOperator", ${milliseconds('created_at')} as "createdAtMs", ${milliseconds('expires_at')} as "expiresAtMs"`;

const IS_MEMBER = sql('is_member_by_email')`
  select from memberships m join users u on u.id = m.user_id where m.organization_id = $1 and u.email = $2`;
/** Inserts an invitation. An operator's replaces an owner's and invalidates its link. */
const INSERT = sql('insert_invitation')`
  insert into invitations as i (id, organization_id, email, role, token_hash, by_operator, expires_at)
    values ($1, $2, $3, $4, $5, $6, now() + ${LIVES_FOR})
    on conflict (organization_id, email) do update set role = excluded.role, token_hash = excluded.token_hash,
      by_operator = true, expires_at = excluded.expires_at where excluded.by_operator and not i.by_operator
    returning ${COLUMNS}`;
const FIND = sql('find_invitation')`select ${COLUMNS} from invitations where organization_id = $1 and id = $2`;
const RENEW = sql('renew_invitation')`
  update invitations set token_hash = $3, expires_at = now() + ${LIVES_FOR} where organization_id = $1 and id = $2 returning ${COLUMNS}`;
/** Gives a pending invitation a new link, for a mail. */
const RELINK = sql('relink_invitation')`
  update invitations i set token_hash = $3, expires_at = now() + ${LIVES_FOR} from organizations o
    where i.organization_id = $1 and i.id = $2 and i.expires_at > now() and o.id = i.organization_id
    returning o.name as organization, ${milliseconds('i.expires_at')} as "expiresAtMs"`;
const SET_ROLE = sql('set_role_of_invitation')`
  update invitations set role = $3 where organization_id = $1 and id = $2 returning ${COLUMNS}`;
const REMOVE = sql('remove_invitation')`delete from invitations where organization_id = $1 and id = $2`;

interface InvitationRow extends Pick<NewInvitation, 'id' | 'email' | 'role' | 'byOperator'> {
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** Invites an address. Effect and result do not depend on whether the address has an account. */
export async function invite(pool: pg.Pool, invitation: NewInvitation, by: Actor): Promise<InviteResult> {
  const { id, organizationId, email, role, tokenHash, byOperator } = invitation;
  return inTransaction(pool, 'begin', async (client): Promise<InviteResult> => {
    const state = await lockMembers(client, organizationId);
    if (state === 'unknown_organization') return { kind: state };
    if ((await run(client, IS_MEMBER, [organizationId, email])).length > 0) return { kind: 'already_member' };
    if (state !== 'open') return { kind: state };
    const [row] = await run<InvitationRow>(client, INSERT, [id, organizationId, email, role, tokenHash, byOperator]);
    if (!row) return { kind: 'already_invited' };
    await addMemberEvent(client, 'user.invited', organizationId, row, changesBetween({}, { role }), by);
    return { kind: 'invited', member: memberOf(row), expiresAtMs: row.expiresAtMs };
  });
}

/** Makes a new link. The former link becomes invalid. */
export async function renewInvitation(
  pool: pg.Pool,
  {
    organizationId,
    id,
    tokenHash,
    byOperator,
  }: Pick<NewInvitation, 'organizationId' | 'id' | 'tokenHash' | 'byOperator'>,
  by: Actor,
): Promise<RenewResult> {
  return inTransaction(pool, 'begin', async (client): Promise<RenewResult> => {
    const before = await lockedInvitation(client, organizationId, id);
    if (!before) return { kind: 'not_invited' };
    if (before.byOperator && !byOperator) return { kind: 'operators_own' };
    const row = await only<InvitationRow>(client, RENEW, [organizationId, id, tokenHash]);
    await addMemberEvent(client, 'user.invited', organizationId, row, {}, by);
    return { kind: 'renewed', email: row.email, expiresAtMs: row.expiresAtMs };
  });
}

/**
 * Renews an invitation's link for a mail that was requested earlier, without another audit event.
 * `undefined`: the invitation does not exist or has expired.
 */
export async function relinkInvitation(
  pool: pg.Pool,
  { organizationId, id, tokenHash }: Pick<NewInvitation, 'organizationId' | 'id' | 'tokenHash'>,
): Promise<{ readonly organization: string; readonly expiresAtMs: number } | undefined> {
  const [row] = await run<{ organization: string; expiresAtMs: number }>(pool, RELINK, [organizationId, id, tokenHash]);
  return row;
}

/** `undefined`: the invitation does not exist. */
export async function setInvitedRole(
  pool: pg.Pool,
  organizationId: string,
  id: string,
  role: MemberRole,
  by: Actor,
): Promise<MemberView | undefined> {
  return inTransaction(pool, 'begin', async (client) => {
    const before = await lockedInvitation(client, organizationId, id);
    if (!before || before.role === role) return before && memberOf(before);
    const after = await only<InvitationRow>(client, SET_ROLE, [organizationId, id, role]);
    const changes = changesBetween({ role: before.role }, { role });
    await addMemberEvent(client, 'user.role_changed', organizationId, before, changes, by);
    return memberOf(after);
  });
}

/** Owners cannot withdraw an operator's invitation: they could then make the link themselves. */
export async function withdrawInvitation(
  pool: pg.Pool,
  { organizationId, id, byOperator }: Pick<NewInvitation, 'organizationId' | 'id' | 'byOperator'>,
  by: Actor,
): Promise<'withdrawn' | 'not_invited' | 'operators_own'> {
  return inTransaction(pool, 'begin', async (client) => {
    const before = await lockedInvitation(client, organizationId, id);
    if (!before) return 'not_invited';
    if (before.byOperator && !byOperator) return 'operators_own';
    await run(client, REMOVE, [organizationId, id]);
    const changes = changesBetween({ role: before.role }, {});
    await addMemberEvent(client, 'user.removed', organizationId, before, changes, by);
    return 'withdrawn';
  });
}

async function lockedInvitation(
  client: pg.PoolClient,
  organizationId: string,
  id: string,
): Promise<InvitationRow | undefined> {
  await lockMembers(client, organizationId);
  const [row] = await run<InvitationRow>(client, FIND, [organizationId, id]);
  return row;
}

/** Returns an invitation as a member who has not joined yet. */
function memberOf({ id, email, role, createdAtMs }: InvitationRow): MemberView {
  return { userId: id, email, role, invited: true, disabled: false, createdAtMs, activeKeys: 0 };
}
