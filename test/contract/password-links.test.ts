import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { newToken } from '#dashboard/server/sign-in/session-token.ts';
import {
  createPasswordLink,
  inspectPasswordLink,
  type LinkPurpose,
  redeemPasswordLink,
} from '#database/sign-in/password-links.ts';
import { createSession, findSession } from '#database/sign-in/sessions.ts';
import { findCredentials, setDisabled, setPasswordHash } from '#database/users/users.ts';
import { BY, lockWaits, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { ADA, openAudited, PASSWORD_HASH } from './audited-database.ts';

const HOUR_MS = 3_600_000;

describe('links that set a password', () => {
  const database = opened(openAudited);

  async function makeLink(userId: string, purpose: LinkPurpose) {
    const { tokenHash } = newToken();
    const result = await createPasswordLink(database.pool, { userId, purpose, tokenHash }, ADA);
    return {
      result,
      tokenHash,
      inspect: () => inspectPasswordLink(database.pool, tokenHash),
      use: (hash = 'chosen') => redeemPasswordLink(database.pool, tokenHash, hash, '192.0.2.9'),
    };
  }

  it.each([
    ['invitation', true, 7 * 24],
    ['reset', false, 24],
  ] as const)('for an %s work once, for so long', async (purpose, isInvited, hours) => {
    const { pool, addUser, events } = database;
    const user = await addUser({ isInvited });
    const link = await makeLink(user.id, purpose);
    const expiresAtMs = link.result.kind === 'created' ? link.result.expiresAtMs : 0;
    expect(Math.round((expiresAtMs - Date.now()) / HOUR_MS)).toBe(hours);
    expect(await link.inspect()).toEqual({ userId: user.id, email: user.email, purpose, expiresAtMs });
    expect(await link.inspect()).toBeDefined();
    expect(await link.use()).toEqual({ userId: user.id });
    expect((await findCredentials(pool, user.email))?.passwordHash).toBe('chosen');
    expect([await link.inspect(), await link.use('again')]).toEqual([undefined, undefined]);
    expect((await findCredentials(pool, user.email))?.passwordHash).toBe('chosen');
    expect((await events(user.id)).slice(1)).toMatchObject([
      { action: purpose === 'reset' ? 'user.reset' : 'user.invited', actor: ADA.actor, changes: {} },
      { action: 'user.password_set', actor: user.email, actor_user_id: user.id, address: '192.0.2.9', changes: {} },
    ]);
  });

  it('can be used by only one of several at the same time', async () => {
    const { pool, addUser } = database;
    for (let round = 0; round < 5; round++) {
      const user = await addUser({ isInvited: true });
      const link = await makeLink(user.id, 'invitation');
      const hashes = ['a', 'b', 'c', 'd'];
      const results = await Promise.all(hashes.map((hash) => link.use(hash)));
      const winner = hashes[results.findIndex((result) => result !== undefined)];
      expect(results.filter((result) => result !== undefined)).toHaveLength(1);
      expect((await findCredentials(pool, user.email))?.passwordHash).toBe(winner);
    }
  });

  it('and another link for the same user do not deadlock', async () => {
    const { addUser, pool, url } = database;
    const { id } = await addUser({ isInvited: true });
    const link = await makeLink(id, 'invitation');
    const waiting = (count: number) => expect.poll(() => lockWaits(url)).toBe(count);
    const holder = await pool.connect();
    await holder.query('begin');
    await holder.query('select from users where id = $1 for update', [id]);
    const made = makeLink(id, 'invitation');
    await waiting(1);
    const used = link.use();
    await waiting(2);
    await holder.query('commit');
    holder.release();
    // The new link came first, and invalidated the other one.
    expect([(await made).result.kind, await used]).toEqual(['created', undefined]);
  });

  it('are invalid once they expire, a newer one is made, a password is set or the user is disabled', async () => {
    const { pool, addUser, url } = database;
    const { id } = await addUser();
    const expired = await makeLink(id, 'reset');
    await sql(url, `update password_links set expires_at = now() where user_id = '${id}'`);
    expect([await expired.inspect(), await expired.use()]).toEqual([undefined, undefined]);
    const older = await makeLink(id, 'reset');
    const newer = await makeLink(id, 'reset');
    expect([await older.inspect(), await older.use()]).toEqual([undefined, undefined]);
    expect(await newer.inspect()).toBeDefined();
    await setPasswordHash(pool, id, 'else', BY);
    expect([await newer.inspect(), await newer.use()]).toEqual([undefined, undefined]);
    const last = await makeLink(id, 'reset');
    await setDisabled(pool, id, true, BY);
    expect((await makeLink(id, 'reset')).result).toEqual({ kind: 'disabled' });
    await setDisabled(pool, id, false, BY);
    expect([await last.inspect(), await last.use()]).toEqual([undefined, undefined]);
    expect((await findCredentials(pool, (await addUser()).email))?.passwordHash).toBe(PASSWORD_HASH);
  });

  it('end the sessions of their user', async () => {
    const { pool, addUser } = database;
    const { id: userId } = await addUser();
    const { tokenHash } = newToken();
    const session = { id: newId('ses', Date.now()), userId, passwordHash: PASSWORD_HASH, address: '::1' };
    await createSession(pool, { ...session, tokenHash });
    const link = await makeLink(userId, 'reset');
    expect(await findSession(pool, tokenHash)).toBeDefined();
    await link.use();
    expect(await findSession(pool, tokenHash)).toBeUndefined();
  });

  it('cannot invite a user who has a password, or an unknown one', async () => {
    const here = await database.addUser();
    expect((await makeLink(here.id, 'invitation')).result).toEqual({ kind: 'has_password' });
    expect((await makeLink(here.id, 'reset')).result.kind).toBe('created');
    const invited = await database.addUser({ isInvited: true, isOperator: true });
    expect((await makeLink(invited.id, 'invitation')).result.kind).toBe('created');
    expect((await makeLink(`usr-${'0'.repeat(26)}`, 'reset')).result).toEqual({ kind: 'unknown_user' });
  });

  it('are stored as a hash, and deleted after they have expired', async () => {
    const { addUser, url } = database;
    const forgotten = await makeLink((await addUser()).id, 'reset');
    await sql(url, 'update password_links set expires_at = now()');
    await makeLink((await addUser()).id, 'reset');
    const rows = await sql<{ token_hash: Buffer }>(url, 'select token_hash from password_links');
    expect(rows.map((row) => row.token_hash)).not.toContainEqual(forgotten.tokenHash);
    expect(rows).toHaveLength(1);
  });
});
