import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { newToken } from '#dashboard/server/sign-in/session-token.ts';
import { removeMember, setRole } from '#database/members/memberships.ts';
import { createSession, deleteSession, findSession, sessionsOf } from '#database/sign-in/sessions.ts';
import { findUser } from '#database/users/user-rows.ts';
import { setPasswordHash } from '#database/users/users.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited, PASSWORD_HASH } from './audited-database.ts';

const DAY_MS = 86_400_000;

describe('sessions', () => {
  const database = opened(openAudited);

  async function signIn(userId: string, more: { userAgent?: string; passwordHash?: string } = {}) {
    const { tokenHash } = newToken();
    const id = newId('ses', Date.now());
    const session = { id, tokenHash, userId, passwordHash: PASSWORD_HASH, address: '192.0.2.7', ...more };
    const began = await createSession(database.pool, session);
    return { id, tokenHash, began, find: () => findSession(database.pool, tokenHash) };
  }
  /** Moves a time of the session into the past. */
  const age = (id: string, column: 'created_at' | 'last_seen_at' | 'expires_at', by: string) =>
    sql(database.url, `update sessions set ${column} = ${column} - interval '${by}' where id = '${id}'`);
  const age30 = async (id: string, by: string) => {
    await age(id, 'created_at', by);
    await age(id, 'expires_at', by);
  };

  it('return user and rights by the token', async () => {
    const { addOrganization, addUser, pool } = database;
    const [first, second] = [await addOrganization(), await addOrganization()];
    const user = await addUser({ isOperator: true, owner: first });
    await addUser({ owner: first });
    await sql(database.url, `insert into memberships values ('${user.id}', '${second}', 'member')`);
    await sql(database.url, `update organizations set name = 'Zeta', suspended_at = now() where id = '${first}'`);
    const { id, find } = await signIn(user.id, { userAgent: 'Firefox' });
    const found = await find();
    expect(found).toEqual({
      session: {
        ...{ id, address: '192.0.2.7', userAgent: 'Firefox' },
        ...{ createdAtMs: expect.any(Number), lastSeenAtMs: expect.any(Number), expiresAtMs: expect.any(Number) },
      },
      user: { id: user.id, email: user.email, isOperator: true },
      memberships: [
        { organizationId: second, name: 'Acme', role: 'member', suspended: false },
        { organizationId: first, name: 'Zeta', role: 'owner', suspended: true },
      ],
      ...{ invitations: [], passwordAgeMs: expect.any(Number), passwordHandedOut: false, beganBy: 'password' },
    });
    expect((await findUser(pool, user.id))?.lastSignedInAtMs).toBe(found?.session.createdAtMs);
    expect(await findSession(pool, newToken().tokenHash)).toBeUndefined();
    const [row] = await sql<{ dump: string }>(
      database.url,
      "select string_agg(sessions::text, '') as dump from sessions",
    );
    expect(row?.dump).toContain(id);
    // A change of rights applies to the next request.
    await setRole(pool, first, user.id, 'member', 'must_stay', BY);
    expect((await find())?.memberships[1]?.role).toBe('member');
    await removeMember(pool, first, user.id, 'must_stay', BY);
    expect((await find())?.memberships).toHaveLength(1);
  });

  it('end after 7 days without use, and are written at most once a minute', async () => {
    const { id, find } = await signIn((await database.addUser()).id);
    const idle = async (by: string) => {
      await age(id, 'last_seen_at', by);
      return (await find())?.session;
    };
    const seen = (await find())?.session;
    expect((seen?.expiresAtMs ?? 0) - (seen?.lastSeenAtMs ?? 0)).toBe(7 * DAY_MS);
    // Nothing is written within the minute, so the row keeps its time.
    const young = await idle('50 seconds');
    expect((await find())?.session).toEqual(young);
    expect(young?.lastSeenAtMs).toBe((seen?.lastSeenAtMs ?? 0) - 50_000);
    const old = await idle('6 days 23 hours');
    expect(old?.lastSeenAtMs).toBeLessThan(Date.now() - 6 * DAY_MS);
    const used = (await find())?.session;
    expect(used?.lastSeenAtMs).toBeGreaterThan(Date.now() - 60_000);
    expect(await idle('7 days 1 second')).toBeUndefined();
  });

  it('end 30 days after signing in, used or not', async () => {
    const { id, find } = await signIn((await database.addUser()).id);
    await age30(id, '29 days 23 hours');
    const found = (await find())?.session;
    expect(Math.round(((found?.expiresAtMs ?? 0) - Date.now()) / 60_000)).toBe(60);
    await age30(id, '1 hour 1 second');
    expect(await find()).toBeUndefined();
  });

  it('begin only with the current password', async () => {
    const { pool, addUser } = database;
    const user = await addUser();
    expect((await signIn(user.id, { passwordHash: 'guess' })).began).toBe(false);
    // Simulates a password that is replaced between its comparison and the session.
    await setPasswordHash(pool, user.id, 'newer', BY);
    const late = await signIn(user.id);
    expect([late.began, await late.find()]).toEqual([false, undefined]);
    expect((await signIn(user.id, { passwordHash: 'newer' })).began).toBe(true);
    expect((await signIn((await addUser({ isInvited: true })).id)).began).toBe(false);
  });

  it('are listed for their user, last seen first, and can be ended only by their user', async () => {
    const { pool, addUser, events } = database;
    const user = await addUser();
    const other = await addUser();
    const sessions = [await signIn(user.id), await signIn(user.id), await signIn(user.id)];
    const [a = '', b = '', c = ''] = sessions.map(({ id }) => id);
    await age(b, 'last_seen_at', '1 hour');
    await age(c, 'last_seen_at', '8 days');
    await signIn(other.id);
    const ids = async () => (await sessionsOf(pool, user.id)).map(({ id }) => id);
    expect(await ids()).toEqual([a, b]);
    expect(await deleteSession(pool, other, a, '::1')).toBeUndefined();
    expect(await deleteSession(pool, user, b, '::1')).toEqual({});
    expect(await deleteSession(pool, user, b, '::1')).toBeUndefined();
    expect(await ids()).toEqual([a]);
    expect(await sessions[1]?.find()).toBeUndefined();
    expect((await events(user.id)).slice(1).map(({ action, address }) => [action, address])).toEqual([
      ...Array(3).fill(['user.signed_in', '192.0.2.7']),
      ['user.signed_out', '::1'],
    ]);
  });

  it('of one user are bounded: the oldest are ended', async () => {
    const { pool, addUser, url } = database;
    const { id: userId } = await addUser();
    const [first, second] = [await signIn(userId), await signIn(userId)];
    await age(first.id, 'last_seen_at', '2 hours');
    await age(second.id, 'last_seen_at', '1 hour');
    await sql(
      url,
      `insert into sessions (token_hash, id, user_id, expires_at, address)
       select sha256(n::text::bytea), 'ses-' || lpad(n::text, 26, '0'), '${userId}', now() + interval '1 day', '::1' from generate_series(1, 48) n`,
    );
    expect(await sessionsOf(pool, userId)).toHaveLength(50);
    await signIn(userId);
    expect(await sessionsOf(pool, userId)).toHaveLength(50);
    expect([await first.find(), (await second.find())?.session.id]).toEqual([undefined, second.id]);
  });

  it('that expired are deleted when somebody signs in', async () => {
    const { addUser, url } = database;
    const expired = await signIn((await addUser()).id);
    await age30(expired.id, '31 days');
    await signIn((await addUser()).id);
    expect(await sql(url, `select from sessions where id = '${expired.id}'`)).toEqual([]);
  });
});
