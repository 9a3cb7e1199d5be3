import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { addMemberEvent, insertMembership, lockMembers } from '../users/membership-rows.ts';
import type { NewInvitation } from './invitations.ts';

/** An invitation as its link's page shows it. */
export interface OpenInvitation extends Pick<NewInvitation, 'id' | 'organizationId' | 'email' | 'role'> {
  readonly organizationName: string;
  readonly expiresAtMs: number;
}

/** `gone`: the link was used, has expired, was withdrawn or was replaced. */
export type NewUserResult =
  | { readonly kind: 'accepted' | 'gone' }
  /** The address has an account, and only that account may accept. */
  | { readonly kind: 'has_account' }
  /** An operator has invited the address too; that invitation must be accepted first. */
  | { readonly kind: 'operators_first' };
export type UserResult = { readonly kind: 'accepted' | 'gone' | 'for_somebody_else' };

const FIND = sql('find_open_invitation')`
  select i.id, i.organization_id as "organizationId", o.name as "organizationName", i.email, i.role, i.by_operator as "byOperator",
      ${milliseconds('i.expires_at')} as "expiresAtMs"
    from invitations i join organizations o on o.id = i.organization_id where i.token_hash = $1 and i.expires_at > now()`;
const OPERATORS = sql('operators_invitation')`
  select from invitations where email = $1 and by_operator and expires_at > now()`;
const INSERT_USER = sql('insert_invited_user')`
  insert into users (id, email, password_hash, came_through) values ($1, $2, $3, $4) on conflict (email) do nothing returning id`;
const LOCK_USER = sql('lock_invited_user')`
  select from users where id = $1 and email = $2 and disabled_at is null for no key update`;

interface InvitationRow extends OpenInvitation {
  readonly byOperator: boolean;
}

export async function inspectInvitation(pool: pg.Pool, tokenHash: Buffer): Promise<OpenInvitation | undefined> {
  const [row] = await run<InvitationRow>(pool, FIND, [tokenHash]);
  if (row === undefined) return undefined;
  const { byOperator: _, ...invitation } = row;
  return invitation;
}

/** Creates the user. An existing account stays unchanged: a link alone gives no access. */
export async function acceptAsNewUser(
  pool: pg.Pool,
  tokenHash: Buffer,
  passwordHash: string,
  address: string,
): Promise<NewUserResult> {
  return inTransaction(pool, 'begin', async (client): Promise<NewUserResult> => {
    const invitation = await lockedInvitation(client, tokenHash);
    if (!invitation) return { kind: 'gone' };
    const { id, email, role, organizationId, byOperator } = invitation;
    if (!byOperator && (await run(client, OPERATORS, [email])).length > 0) return { kind: 'operators_first' };
    const cameThrough = byOperator ? null : organizationId;
    const made = await run(client, INSERT_USER, [id, email, passwordHash, cameThrough]);
    if (made.length === 0) return { kind: 'has_account' };
    await insertMembership(client, organizationId, id, role);
    const changes = changesBetween({}, { email, isOperator: false, role });
    const by = { actor: email, userId: id, address };
    await addMemberEvent(client, 'user.created', organizationId, { id, email }, changes, by);
    return { kind: 'accepted' };
  });
}

/** Accepts as a user who has proved the identity by password or session. */
export async function acceptAsUser(
  pool: pg.Pool,
  tokenHash: Buffer,
  by: Actor & { readonly userId: string },
): Promise<UserResult> {
  return inTransaction(pool, 'begin', async (client): Promise<UserResult> => {
    const invitation = await lockedInvitation(client, tokenHash);
    if (!invitation) return { kind: 'gone' };
    const { email, role, organizationId } = invitation;
    if ((await run(client, LOCK_USER, [by.userId, email])).length === 0) return { kind: 'for_somebody_else' };
    await insertMembership(client, organizationId, by.userId, role);
    await addMemberEvent(
      client,
      'user.added',
      organizationId,
      { id: by.userId, email },
      changesBetween({}, { role }),
      by,
    );
    return { kind: 'accepted' };
  });
}

/** Locks the organization, then reads its invitation again: it may have been replaced. */
async function lockedInvitation(client: pg.PoolClient, tokenHash: Buffer): Promise<InvitationRow | undefined> {
  const [found] = await run<InvitationRow>(client, FIND, [tokenHash]);
  if (!found) return undefined;
  await lockMembers(client, found.organizationId);
  const [row] = await run<InvitationRow>(client, FIND, [tokenHash]);
  return row;
}
