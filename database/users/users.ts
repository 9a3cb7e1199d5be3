import type pg from 'pg';
import type { Actor } from '../audit/audit.ts';
import { changesBetween } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, records, run, sql } from '../connection/connection-pool.ts';
import { revokeKeysOf } from '../keys/keys-of-user.ts';
import { insertMembership, lockMembers } from './membership-rows.ts';
import { findUser, IS_INVITED, type MemberRole, type UserRecord } from './user-rows.ts';

export interface NewUser {
  readonly id: string;
  /** Normalized by normalizeEmail(). */
  readonly email: string;
  readonly isOperator: boolean;
  /** Absent: the user sets a password with an operator's link. */
  readonly passwordHash?: string;
  /** True if another person knows the password. */
  readonly passwordHandedOut?: true;
  readonly membership?: { readonly organizationId: string; readonly role: MemberRole };
}

export type CreateUserResult =
  | { readonly kind: 'created'; readonly user: UserRecord }
  | { readonly kind: 'email_taken' | 'unknown_organization' | 'organization_full' };

export type SetDisabledResult =
  | { readonly kind: 'done'; readonly user: UserRecord; readonly revokedKeys: number }
  | { readonly kind: 'unknown_user' }
  /** Without this operator nobody could enable users again. */
  | { readonly kind: 'last_operator' };

/** Stored data with which a sign-in is compared. */
export interface Credentials {
  readonly userId: string;
  readonly disabled: boolean;
  /** Absent: the user was invited and has not set a password yet. */
  readonly passwordHash?: string;
}

/** A user's change of their own password. */
export interface OwnChange {
  /** The session that continues. */
  readonly sessionId: string;
  /** Hash of the verified current password (compare-and-set). After a change nothing is written. */
  readonly formerHash: string;
}

const INSERT = sql('insert_user')`
  insert into users (id, email, password_hash, is_operator, password_handed_out) values ($1, $2, $3, $4, $5)
    on conflict (email) do nothing returning id`;
const CREDENTIALS = sql('user_credentials')`
  select id as "userId", disabled_at is not null as disabled, password_hash as "passwordHash" from users where email = $1`;
/** Locks operators in the order of ids, so that two who disable each other cannot deadlock. */
const LOCK_OPERATORS = sql('lock_operators')`
  select u.id, u.disabled_at is null and not ${IS_INVITED} as can_work
    from users u where u.is_operator order by u.id for no key update`;
const LOCK = sql('lock_user')`select from users where id = $1 for no key update`;
const SET_DISABLED = sql('set_user_disabled')`update users set disabled_at = case when $2 then now() end where id = $1`;
const SET_PASSWORD = sql('set_password')`
  update users set password_hash = $2, password_handed_out = $4
    where id = $1 and ($3::text is null or password_hash = $3) returning email`;
const END_SESSIONS = sql('end_sessions')`delete from sessions where user_id = $1 and ($2::text is null or id <> $2)`;
const FORGET_BROWSERS = sql('forget_known_browsers')`delete from known_browsers where user_id = $1`;
const DELETE_LINKS = sql('delete_password_links')`delete from password_links where user_id = $1`;

export async function createUser(pool: pg.Pool, user: NewUser, by: Actor): Promise<CreateUserResult> {
  const { id, email, isOperator, membership } = user;
  return inTransaction(pool, 'begin', async (client): Promise<CreateUserResult> => {
    if (membership) {
      const state = await lockMembers(client, membership.organizationId);
      if (state !== 'open') return { kind: state };
    }
    const rows = await run(client, INSERT, [
      id,
      email,
      user.passwordHash ?? null,
      isOperator,
      user.passwordHandedOut ?? false,
    ]);
    if (rows.length === 0) return { kind: 'email_taken' };
    if (membership) await insertMembership(client, membership.organizationId, id, membership.role);
    const changes = changesBetween({}, { email, isOperator, role: membership?.role });
    const subject = { subjectId: id, subjectName: email };
    const about = membership ? { organizationId: membership.organizationId } : {};
    await addAuditEvent(client, { action: 'user.created', ...about, ...subject, changes }, by);
    return { kind: 'created', user: await present(client, id) };
  });
}

/** Reads credentials, which are no part of UserRecord, so that no response has a hash. */
export async function findCredentials(pool: pg.Pool, email: string): Promise<Credentials | undefined> {
  const [credentials] = await records<Credentials>(pool, CREDENTIALS, [email]);
  return credentials;
}

/** What happens to a disabled user's keys, in all organizations. Enabling restores none. */
export type KeysOfDisabled = 'revoke' | 'keep';

/** Disables or enables a user. Disabling signs out, deletes links, and keeps the first time. */
export async function setDisabled(
  pool: pg.Pool,
  userId: string,
  disabled: boolean,
  by: Actor,
  keys: KeysOfDisabled = 'revoke',
): Promise<SetDisabledResult> {
  return inTransaction(pool, 'begin', async (client): Promise<SetDisabledResult> => {
    const operators = disabled ? await run<{ id: string; can_work: boolean }>(client, LOCK_OPERATORS, []) : [];
    await run(client, LOCK, [userId]);
    const before = await findUser(client, userId);
    if (!before) return { kind: 'unknown_user' };
    const others = operators.some(({ id, can_work: canWork }) => id !== userId && canWork);
    if (disabled && before.isOperator && !others) return { kind: 'last_operator' };
    const revokedKeys = disabled && keys === 'revoke' ? await revokeKeysOf(client, undefined, userId, by) : 0;
    if (disabled === (before.disabledAtMs !== undefined)) return { kind: 'done', user: before, revokedKeys };
    await run(client, SET_DISABLED, [userId, disabled]);
    if (disabled) await signOut(client, userId);
    const user = await present(client, userId);
    const changes = changesBetween({ disabledAtMs: before.disabledAtMs }, { disabledAtMs: user.disabledAtMs });
    const subject = { subjectId: userId, subjectName: user.email };
    await addAuditEvent(client, { action: disabled ? 'user.disabled' : 'user.enabled', ...subject, changes }, by);
    return { kind: 'done', user, revokedKeys };
  });
}

/**
 * Sets a password. Ends all sessions of the user except the one that changes it, and deletes all
 * links. `handed_out`: another person knows the password. `false`: the user does not exist, or the
 * password has changed since it was verified.
 */
export async function setPasswordHash(
  pool: pg.Pool,
  userId: string,
  passwordHash: string,
  by: Actor,
  change?: OwnChange | 'handed_out',
): Promise<boolean> {
  return inTransaction(pool, 'begin', (client) => storePassword(client, userId, passwordHash, by, change));
}

/** Stores a password in the caller's transaction. */
export async function storePassword(
  client: pg.PoolClient,
  userId: string,
  passwordHash: string,
  by: Actor,
  change?: OwnChange | 'handed_out',
): Promise<boolean> {
  const handedOut = change === 'handed_out';
  const own = handedOut ? undefined : change;
  const values = [userId, passwordHash, own?.formerHash ?? null, handedOut];
  const [row] = await run<{ email: string }>(client, SET_PASSWORD, values);
  if (!row) return false;
  await signOut(client, userId, own?.sessionId);
  const subject = { subjectId: userId, subjectName: row.email };
  await addAuditEvent(client, { action: 'user.password_set', ...subject, changes: {} }, by);
  return true;
}

/** Ends sessions, deletes links and forgets known browsers, in the caller's transaction. */
export async function signOut(client: pg.PoolClient, userId: string, keepSessionId?: string): Promise<void> {
  await endSessions(client, userId, keepSessionId);
  await deleteLinks(client, userId);
  await run(client, FORGET_BROWSERS, [userId]);
}

/** Ends sessions in the caller's transaction. Browsers stay known. */
export async function endSessions(client: pg.PoolClient, userId: string, keepSessionId?: string): Promise<void> {
  await run(client, END_SESSIONS, [userId, keepSessionId ?? null]);
}

/** Deletes links in the caller's transaction. */
export async function deleteLinks(client: pg.PoolClient, userId: string): Promise<void> {
  await run(client, DELETE_LINKS, [userId]);
}

async function present(client: pg.PoolClient, id: string): Promise<UserRecord> {
  const user = await findUser(client, id);
  if (!user) throw new Error('a user vanished in the transaction that changed it');
  return user;
}
