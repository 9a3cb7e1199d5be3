import type pg from 'pg';
import { addForgottenMail, type NewMessage } from '../alerts/outbox.ts';
import { type Actor, type AuditAction, SOMEBODY } from '../audit/audit.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, only, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { IS_INVITED } from '../users/user-rows.ts';
import { storePassword } from '../users/users.ts';

/** `forgotten`: requested without a sign-in. `sign_in`: signs in once without a password. */
export type LinkPurpose = 'invitation' | 'reset' | 'forgotten' | 'sign_in';

export interface NewPasswordLink {
  readonly userId: string;
  readonly purpose: LinkPurpose;
  /** SHA-256 of the 32 random bytes that the link carries. */
  readonly tokenHash: Buffer;
}

export type CreateLinkResult =
  | { readonly kind: 'created'; readonly expiresAtMs: number }
  | { readonly kind: 'unknown_user' | 'disabled' }
  /** An invitation is for a user without a password. Others need a reset. */
  | { readonly kind: 'has_password' };

export interface PasswordLink {
  readonly userId: string;
  readonly email: string;
  readonly purpose: LinkPurpose;
  readonly expiresAtMs: number;
}

const LIVES_FOR =
  "case $2::text when 'invitation' then interval '7 days' when 'sign_in' then interval '15 minutes' when 'forgotten' then interval '30 minutes' else interval '24 hours' end";

const ACTION = {
  invitation: 'user.invited',
  reset: 'user.reset',
  forgotten: 'user.reset_asked',
  sign_in: 'user.sign_in_link',
} as const satisfies Record<LinkPurpose, AuditAction>;

const LOCK_USER = sql('lock_user_of_link')`
  select u.email, not ${IS_INVITED} as has_account, u.password_hash is not null as has_password, u.disabled_at is not null as disabled
    from users u where u.id = $1 for no key update`;
/**
 * Deletes the user's former links, and expired links of anybody. A `forgotten` link deletes no link
 * that an operator made, because anybody can request one.
 */
const FORGET = sql('forget_password_links')`
  delete from password_links where user_id = $1 and ($2 <> 'forgotten' or purpose = 'forgotten') or token_hash in (
      select token_hash from password_links where expires_at < now() limit 100 for update skip locked)`;
const INSERT = sql('insert_password_link')`
  insert into password_links (user_id, purpose, token_hash, expires_at) values ($1, $2, $3, now() + ${LIVES_FOR})
    returning ${milliseconds('expires_at')} as "expiresAtMs"`;
const FIND = sql('find_password_link')`
  select l.user_id as "userId", u.email, l.purpose, ${milliseconds('l.expires_at')} as "expiresAtMs"
    from password_links l join users u on u.id = l.user_id
    where l.token_hash = $1 and l.expires_at > now() and u.disabled_at is null`;
/** Locks the user before dependent rows, like users.ts, so that nothing can deadlock. */
const LOCK_HOLDER = sql('lock_holder_of_link')`
  select from users where id = (select user_id from password_links where token_hash = $1) for no key update`;
const TAKE = sql('take_password_link')`
  delete from password_links l using users u
    where l.token_hash = $1 and (l.purpose = 'sign_in') = $2 and l.expires_at > now() and u.id = l.user_id and u.disabled_at is null
    returning l.user_id as "userId", u.email`;

interface LockedUser {
  readonly email: string;
  readonly has_account: boolean;
  readonly has_password: boolean;
  readonly disabled: boolean;
}

/**
 * Creates an operator's link. Whoever has it becomes that user. Without an actor it is the link of
 * a mail that is being sent, whose event was recorded earlier.
 */
export async function createPasswordLink(
  pool: pg.Pool,
  { userId, purpose, tokenHash }: NewPasswordLink,
  by: Actor | undefined,
): Promise<CreateLinkResult> {
  return inTransaction(pool, 'begin', async (client): Promise<CreateLinkResult> => {
    const [user] = await run<LockedUser>(client, LOCK_USER, [userId]);
    if (!user || (purpose === 'forgotten' && !user.has_password)) return { kind: 'unknown_user' };
    if (user.disabled) return { kind: 'disabled' };
    if (purpose === 'invitation' && user.has_account) return { kind: 'has_password' };
    await run(client, FORGET, [userId, purpose]);
    const { expiresAtMs } = await only<{ expiresAtMs: number }>(client, INSERT, [userId, purpose, tokenHash]);
    const event = { action: ACTION[purpose], subjectId: userId, subjectName: user.email, changes: {} };
    if (by !== undefined) await addAuditEvent(client, event, by);
    return { kind: 'created', expiresAtMs };
  });
}

/** Adds the mail to the outbox. Its link is created when the mail is sent. */
export async function mailForgottenPassword(
  pool: pg.Pool,
  user: { readonly id: string; readonly email: string },
  mail: NewMessage,
  address: string,
): Promise<void> {
  await inTransaction(pool, 'begin', async (client) => {
    if (!(await addForgottenMail(client, mail))) return;
    const event = { action: ACTION.forgotten, subjectId: user.id, subjectName: user.email, changes: {} };
    await addAuditEvent(client, event, { actor: SOMEBODY, address });
  });
}

/** `undefined`: the link never existed, was used, has expired, or its user is disabled. */
export async function inspectPasswordLink(pool: pg.Pool, tokenHash: Buffer): Promise<PasswordLink | undefined> {
  const [link] = await run<PasswordLink>(pool, FIND, [tokenHash]);
  return link;
}

/**
 * Sets the password, once, and ends every session of the user. The actor is the user. `undefined`:
 * as for inspectPasswordLink().
 */
export async function redeemPasswordLink(
  pool: pg.Pool,
  tokenHash: Buffer,
  passwordHash: string,
  address: string,
): Promise<{ readonly userId: string } | undefined> {
  return inTransaction(pool, 'begin', async (client) => {
    await run(client, LOCK_HOLDER, [tokenHash]);
    const [row] = await run<{ userId: string; email: string }>(client, TAKE, [tokenHash, false]);
    if (!row) return undefined;
    const { userId, email } = row;
    await storePassword(client, userId, passwordHash, { actor: email, userId, address });
    return { userId };
  });
}

/** Uses a link that signs in without a password. `undefined`: as for inspectPasswordLink(). */
export async function redeemSignInLink(
  pool: pg.Pool,
  tokenHash: Buffer,
): Promise<{ readonly userId: string } | undefined> {
  const [holder] = await run<{ userId: string }>(pool, TAKE, [tokenHash, true]);
  return holder && { userId: holder.userId };
}
