import type pg from 'pg';
import type { Actor, AuditAction, AuditChanges } from '../audit/audit.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { only, run, sql } from '../connection/connection-pool.ts';
import type { MemberRole } from './user-rows.ts';

/** Bound of an organization's members. One page lists them all. */
export const MAX_MEMBERS = 1_000;

/** Locks the organization, so that two owners cannot remove each other. */
const LOCK_ORGANIZATION = sql('lock_members')`select from organizations where id = $1 for no key update`;
const COUNT = sql('count_members')`
  select (select count(*)::integer from memberships where organization_id = $1)
      + (select count(*)::integer from invitations where organization_id = $1) as members`;
const INSERT = sql('insert_membership')`
  insert into memberships (user_id, organization_id, role) values ($1, $2, $3) on conflict do nothing`;
const END_INVITATION = sql('end_invitation')`
  delete from invitations i using users u where i.organization_id = $1 and u.id = $2 and i.email = u.email`;

/** Locks the members until the transaction ends. `open`: one more fits, counting invited ones. */
export async function lockMembers(
  client: pg.PoolClient,
  id: string,
): Promise<'open' | 'unknown_organization' | 'organization_full'> {
  const found = await run(client, LOCK_ORGANIZATION, [id]);
  if (found.length === 0) return 'unknown_organization';
  const { members } = await only<{ members: number }>(client, COUNT, [id]);
  return members < MAX_MEMBERS ? 'open' : 'organization_full';
}

/** Inserts a membership, and deletes the user's invitation to the organization. */
export async function insertMembership(
  client: pg.PoolClient,
  organizationId: string,
  userId: string,
  role: MemberRole,
): Promise<void> {
  await run(client, INSERT, [userId, organizationId, role]);
  await run(client, END_INVITATION, [organizationId, userId]);
}

/** Adds an event about a user as a member, or about an invited address. */
export async function addMemberEvent(
  client: pg.PoolClient,
  action: AuditAction,
  organizationId: string,
  { id, email }: { readonly id: string; readonly email: string },
  changes: AuditChanges,
  by: Actor,
): Promise<void> {
  await addAuditEvent(client, { action, organizationId, subjectId: id, subjectName: email, changes }, by);
}
