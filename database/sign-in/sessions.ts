import type pg from 'pg';
import type { DeviceView, PendingInvitation, SessionView } from '#contract/session.ts';
import { DAY_MS } from '#core/clock.ts';
import { present } from '#core/present.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, records, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { MEMBERSHIPS, type Membership } from '../users/user-rows.ts';

export interface NewSession {
  readonly id: string;
  /** SHA-256 of the token. Only the browser has the token itself. */
  readonly tokenHash: Buffer;
  readonly userId: string;
  /** Hash of the verified password: after a change no session begins. Absent: no password used. */
  readonly passwordHash?: string;
  /** Default: a sign-in with a password. */
  readonly beganBy?: SessionStart;
  readonly address: string;
  readonly userAgent?: string;
}

export type SessionStart =
  | { readonly by: 'link' }
  /** No ID token: it is too long. `provedAtMs`: when the user authenticated at the issuer. */
  | { readonly by: 'issuer'; readonly issuer: string; readonly provedAtMs: number; readonly idToken?: string };

export interface SessionRecord extends Omit<DeviceView, 'current'> {
  /** Expiry if no further requests come, at most the longest length after the sign-in. */
  readonly expiresAtMs: number;
}

/** The signed-in user. Read with every request, so that a change of rights takes effect at once. */
export interface SignedIn {
  readonly session: SessionRecord;
  readonly user: SessionView['user'];
  /** By name. */
  readonly memberships: readonly Membership[];
  /** At most 20 pending invitations for the user's address, from other organizations. */
  readonly invitations: readonly PendingInvitation[];
  readonly beganBy: SessionView['signedInBy'];
  /** The issuer at which the session began, if any. */
  readonly issuer?: string;
  /** Time since the password was entered here, or the user authenticated at the issuer. */
  readonly passwordAgeMs: number;
  /** True if a command line generated the password, so that another person knows it. */
  readonly passwordHandedOut: boolean;
}

/** Pending invitations of `users u`, as JSON. */
const INVITATIONS = `coalesce((
    select json_agg(json_build_object('organization', i.name, 'role', i.role, 'expiresAtMs', i.expires_ms)) from (
      select o.name, i.role, ${milliseconds('i.expires_at')} as expires_ms
      from invitations i join organizations o on o.id = i.organization_id
      where i.email = u.email and i.expires_at > now() order by i.created_at limit 20
    ) i
  ), '[]') as invitations`;

/** Lengths of a session: without requests, and in total. Both also apply to existing sessions. */
export interface SessionLengths {
  readonly idleMs: number;
  readonly absoluteMs: number;
}

/** Defaults of the configuration. */
export const USUAL_LENGTHS: SessionLengths = { idleMs: 7 * DAY_MS, absoluteMs: 30 * DAY_MS };

const MAX_SESSIONS = 50;

/** Every statement on sessions has the lengths as its first two values. */
const IDLE = "$1::float8 * interval '1 millisecond'";
const LONGEST = "$2::float8 * interval '1 millisecond'";
/** Least interval at which the row of a session in use is updated. */
const SEEN_EVERY = `least(interval '1 minute', ${IDLE} / 10)`;
const LIVES = `s.expires_at > now() and s.created_at > now() - ${LONGEST} and s.last_seen_at > now() - ${IDLE}`;
const COLUMNS = `s.id, ${milliseconds('s.created_at')} as "createdAtMs", ${milliseconds('s.last_seen_at')} as "lastSeenAtMs",
  ${milliseconds(`least(s.expires_at, s.created_at + ${LONGEST}, s.last_seen_at + ${IDLE})`)} as "expiresAtMs", s.address, s.user_agent as "userAgent"`;

const ENTER = sql('note_sign_in')`
  update users set last_signed_in_at = now() where id = $1 and ($2::text is null or password_hash = $2) and disabled_at is null returning email`;
const INSERT = sql('insert_session')`
  insert into sessions (token_hash, id, user_id, expires_at, address, user_agent, began_by, issuer, id_token, password_at)
    values ($1, $2, $3, now() + $6::float8 * interval '1 millisecond', $4, $5, $7, $8, $9,
      least(now(), coalesce(to_timestamp($10::float8 / 1000), now())))`;
const FORGET = sql('forget_sessions')`
  delete from sessions where user_id = $3 and id not in (
      select s.id from sessions s where s.user_id = $3 and ${LIVES} order by s.last_seen_at desc, s.id desc limit ${MAX_SESSIONS})`;
/** Deletes expired sessions of users who do not return. */
const FORGET_EXPIRED = sql('forget_expired_sessions')`
  delete from sessions where id in (
      select id from sessions where expires_at < now() order by expires_at limit 100 for update skip locked)`;
/** An operator by claim who signs in with a password is no operator in that session. */
const IS_OPERATOR = `u.is_operator and not (u.operator_by_claim and s.began_by = 'password')`;
const FIND = sql('find_session')`
  select ${COLUMNS}, s.last_seen_at < now() - ${SEEN_EVERY} as unseen, u.id as "userId", u.email, ${IS_OPERATOR} as "isOperator",
      u.password_handed_out as "passwordHandedOut", s.began_by as "beganBy", s.issuer,
      (extract(epoch from now() - s.password_at) * 1000)::float8 as "passwordAgeMs", ${MEMBERSHIPS}, ${INVITATIONS}
    from sessions s join users u on u.id = s.user_id
    where s.token_hash = $3 and u.disabled_at is null and ${LIVES}`;
const SEEN = sql('session_seen')`
  update sessions s set last_seen_at = now() where s.token_hash = $3 and s.last_seen_at < now() - ${SEEN_EVERY} and ${LIVES}`;
const LIST = sql('list_sessions')`
  select ${COLUMNS} from sessions s where s.user_id = $3 and ${LIVES} order by s.last_seen_at desc, s.id desc limit ${MAX_SESSIONS}`;
const NOTE_PASSWORD = sql('note_password')`update sessions set password_at = now() where id = $1`;
const DELETE = sql('delete_session')`
  delete from sessions where user_id = $1 and id = $2 returning issuer, id_token as "idToken"`;

interface SignedInRow extends SessionRecord, Omit<SignedIn, 'session' | 'user'> {
  readonly unseen: boolean;
  readonly userId: string;
  readonly email: string;
  readonly isOperator: boolean;
}

/** Creates a session, ending the oldest of too many. `false`: user disabled or password changed. */
export async function createSession(
  pool: pg.Pool,
  session: NewSession,
  { idleMs, absoluteMs }: SessionLengths = USUAL_LENGTHS,
): Promise<boolean> {
  const { id, tokenHash, userId, passwordHash, address, userAgent, beganBy } = session;
  const atIssuer = beganBy?.by === 'issuer' ? beganBy : undefined;
  return inTransaction(pool, 'begin', async (client) => {
    const [entered] = await run<{ email: string }>(client, ENTER, [userId, passwordHash ?? null]);
    if (!entered) return false;
    const start = [
      beganBy?.by ?? 'password',
      atIssuer?.issuer ?? null,
      atIssuer?.idToken ?? null,
      atIssuer?.provedAtMs ?? null,
    ];
    await run(client, INSERT, [tokenHash, id, userId, address, userAgent ?? null, absoluteMs, ...start]);
    await run(client, FORGET, [idleMs, absoluteMs, userId]);
    await run(client, FORGET_EXPIRED, []);
    await addSessionEvent(client, 'user.signed_in', userId, entered.email, address);
    return true;
  });
}

/** `undefined`: the session does not exist or has expired, or its user is disabled. */
export async function findSession(
  pool: pg.Pool,
  tokenHash: Buffer,
  { idleMs, absoluteMs }: SessionLengths = USUAL_LENGTHS,
): Promise<SignedIn | undefined> {
  const values = [idleMs, absoluteMs, tokenHash];
  const [row] = await records<SignedInRow>(pool, FIND, values);
  if (!row) return undefined;
  const { unseen, userId: id, email, isOperator, memberships, invitations, ...rest } = row;
  const { passwordAgeMs, passwordHandedOut, beganBy, issuer, ...session } = rest;
  if (unseen) await run(pool, SEEN, values);
  const start = { passwordAgeMs, passwordHandedOut, beganBy, ...present({ issuer }) };
  return { session, user: { id, email, isOperator }, memberships, invitations, ...start };
}

/** Most recently used first. */
export async function sessionsOf(
  pool: pg.Pool,
  userId: string,
  { idleMs, absoluteMs }: SessionLengths = USUAL_LENGTHS,
): Promise<readonly SessionRecord[]> {
  return records<SessionRecord>(pool, LIST, [idleMs, absoluteMs, userId]);
}

/** Records that the password was entered for this session just now. */
export async function notePassword(pool: pg.Pool, sessionId: string): Promise<void> {
  await run(pool, NOTE_PASSWORD, [sessionId]);
}

/** A session that ended, as its issuer identifies it. */
export interface EndedSession {
  readonly issuer?: string;
  readonly idToken?: string;
}

/** `undefined`: the user has no such session. */
export async function deleteSession(
  pool: pg.Pool,
  { id: userId, email }: SignedIn['user'],
  sessionId: string,
  address: string,
): Promise<EndedSession | undefined> {
  return inTransaction(pool, 'begin', async (client) => {
    const [ended] = await records<EndedSession>(client, DELETE, [userId, sessionId]);
    if (!ended) return undefined;
    await addSessionEvent(client, 'user.signed_out', userId, email, address);
    return ended;
  });
}

async function addSessionEvent(
  client: pg.PoolClient,
  action: 'user.signed_in' | 'user.signed_out',
  userId: string,
  email: string,
  address: string,
): Promise<void> {
  const event = { action, subjectId: userId, subjectName: email, changes: {} };
  await addAuditEvent(client, event, { actor: email, userId, address });
}
