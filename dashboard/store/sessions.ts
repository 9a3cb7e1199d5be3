import type pg from 'pg';
import { addAuditEvent } from '../../ext-proc/stores/postgres/audit-log.ts';
import { inTransaction, run, type Statement } from '../../ext-proc/stores/postgres/connection-pool.ts';
import { MEMBERSHIPS, type MemberRole, type Membership, milliseconds } from './user-rows.ts';

export interface NewSession {
  readonly id: string;
  /** SHA-256 of the token; the token itself is the browser's alone. */
  readonly tokenHash: Buffer;
  readonly userId: string;
  /** That the password was compared with. A password set since then lets nobody in who knew the former one. */
  readonly passwordHash: string;
  readonly address: string;
  readonly userAgent?: string;
}

export interface SessionRecord {
  readonly id: string;
  readonly createdAtMs: number;
  /** To the minute. */
  readonly lastSeenAtMs: number;
  /** Unless it is used before; never later than 30 days after sign-in. */
  readonly expiresAtMs: number;
  /** Where the user signed in. */
  readonly address: string;
  readonly userAgent?: string;
}

/** Who is asking: read anew with every request, so that a change of rights is in force at once. */
export interface SignedIn {
  readonly session: SessionRecord;
  readonly user: { readonly id: string; readonly email: string; readonly isOperator: boolean };
  /** By name. */
  readonly memberships: readonly Membership[];
  /** Of the user's address, by organizations that he does not belong to; 20 at most. */
  readonly invitations: readonly Invitation[];
}

export interface Invitation {
  /** Name of the organization. */
  readonly organization: string;
  readonly role: MemberRole;
  readonly expiresAtMs: number;
}

/** Of `users u`, as JSON. */
const INVITATIONS = `coalesce((
    select json_agg(json_build_object('organization', i.name, 'role', i.role, 'expiresAtMs', i.expires_ms)) from (
      select o.name, i.role, ${milliseconds('i.expires_at')} as expires_ms
      from invitations i join organizations o on o.id = i.organization_id
      where i.email = u.email and i.expires_at > now() order by i.created_at limit 20
    ) i
  ), '[]') as invitations`;

const IDLE = "interval '7 days'";
const LONGEST = "interval '30 days'";
/** How often the row is written for a session in use. */
const SEEN_EVERY = "interval '1 minute'";
const MAX_SESSIONS = 50;

const LIVES = `s.expires_at > now() and s.last_seen_at > now() - ${IDLE}`;
const COLUMNS = `s.id, ${milliseconds('s.created_at')} as created_ms, ${milliseconds('s.last_seen_at')} as seen_ms,
  ${milliseconds(`least(s.expires_at, s.last_seen_at + ${IDLE})`)} as expires_ms, s.address, s.user_agent`;

const ENTER: Statement = {
  name: 'note_sign_in',
  text: 'update users set last_signed_in_at = now() where id = $1 and password_hash = $2 and disabled_at is null returning email',
};
const INSERT: Statement = {
  name: 'insert_session',
  text: `insert into sessions (token_hash, id, user_id, expires_at, address, user_agent) values ($1, $2, $3, now() + ${LONGEST}, $4, $5)`,
};
const FORGET: Statement = {
  name: 'forget_sessions',
  text: `delete from sessions where user_id = $1 and id not in (
      select s.id from sessions s where s.user_id = $1 and ${LIVES} order by s.last_seen_at desc, s.id desc limit ${MAX_SESSIONS})`,
};
/** Those of users who do not come back. */
const FORGET_EXPIRED: Statement = {
  name: 'forget_expired_sessions',
  text: `delete from sessions where id in (
      select id from sessions where expires_at < now() order by expires_at limit 100 for update skip locked)`,
};
const FIND: Statement = {
  name: 'find_session',
  text: `select ${COLUMNS}, s.last_seen_at < now() - ${SEEN_EVERY} as unseen, u.id as user_id, u.email, u.is_operator, ${MEMBERSHIPS}, ${INVITATIONS}
    from sessions s join users u on u.id = s.user_id
    where s.token_hash = $1 and u.disabled_at is null and ${LIVES}`,
};
const SEEN: Statement = {
  name: 'session_seen',
  text: `update sessions s set last_seen_at = now() where s.token_hash = $1 and s.last_seen_at < now() - ${SEEN_EVERY} and ${LIVES}`,
};
const LIST: Statement = {
  name: 'list_sessions',
  text: `select ${COLUMNS} from sessions s where s.user_id = $1 and ${LIVES} order by s.last_seen_at desc, s.id desc limit ${MAX_SESSIONS}`,
};
const DELETE: Statement = {
  name: 'delete_session',
  text: 'delete from sessions where user_id = $1 and id = $2 returning id',
};

interface SessionRow {
  readonly id: string;
  readonly created_ms: number;
  readonly seen_ms: number;
  readonly expires_ms: number;
  readonly address: string;
  readonly user_agent: string | null;
}

interface SignedInRow extends SessionRow {
  readonly unseen: boolean;
  readonly user_id: string;
  readonly email: string;
  readonly is_operator: boolean;
  readonly memberships: Membership[];
  readonly invitations: Invitation[];
}

/** `false`: the user was disabled, or got another password, since the password was compared. The oldest of too many sessions end. */
export async function createSession(pool: pg.Pool, session: NewSession): Promise<boolean> {
  const { id, tokenHash, userId, passwordHash, address, userAgent } = session;
  return inTransaction(pool, 'begin', async (client) => {
    const [entered] = await run<{ email: string }>(client, ENTER, [userId, passwordHash]);
    if (!entered) return false;
    await run(client, INSERT, [tokenHash, id, userId, address, userAgent ?? null]);
    await run(client, FORGET, [userId]);
    await run(client, FORGET_EXPIRED, []);
    await addSessionEvent(client, 'user.signed_in', userId, entered.email, address);
    return true;
  });
}

/** `undefined`: no such session, or it has expired, or its user is disabled. */
export async function findSession(pool: pg.Pool, tokenHash: Buffer): Promise<SignedIn | undefined> {
  const [row] = await run<SignedInRow>(pool, FIND, [tokenHash]);
  if (!row) return undefined;
  if (row.unseen) await run(pool, SEEN, [tokenHash]);
  return {
    session: recordOf(row),
    user: { id: row.user_id, email: row.email, isOperator: row.is_operator },
    memberships: row.memberships,
    invitations: row.invitations,
  };
}

/** Last seen first. */
export async function sessionsOf(pool: pg.Pool, userId: string): Promise<readonly SessionRecord[]> {
  return (await run<SessionRow>(pool, LIST, [userId])).map(recordOf);
}

/** `false`: the user has no such session. */
export async function deleteSession(
  pool: pg.Pool,
  { id: userId, email }: SignedIn['user'],
  sessionId: string,
  address: string,
): Promise<boolean> {
  return inTransaction(pool, 'begin', async (client) => {
    const ended = await run(client, DELETE, [userId, sessionId]);
    if (ended.length === 0) return false;
    await addSessionEvent(client, 'user.signed_out', userId, email, address);
    return true;
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

function recordOf(row: SessionRow): SessionRecord {
  return {
    id: row.id,
    createdAtMs: row.created_ms,
    lastSeenAtMs: row.seen_ms,
    expiresAtMs: row.expires_ms,
    address: row.address,
    ...(row.user_agent === null ? {} : { userAgent: row.user_agent }),
  };
}
