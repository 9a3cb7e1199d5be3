import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { newToken } from '#dashboard/server/sign-in/session-token.ts';
import { createSession, findSession } from '#database/sign-in/sessions.ts';
import { findUser, findUserByEmail, listUsers } from '#database/users/user-rows.ts';
import { createUser, findCredentials, setDisabled, setPasswordHash } from '#database/users/users.ts';
import { BY, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { ADA, type Event, openAudited, PASSWORD_HASH } from './audited-database.ts';

const isChange = ({ action }: Event) => action !== 'user.created' && !action.startsWith('user.sign');
const NOBODY = `usr-${'0'.repeat(26)}`;

describe('users', () => {
  const database = opened(openAudited);

  async function signIn(userId: string, passwordHash = PASSWORD_HASH) {
    const { tokenHash } = newToken();
    const id = newId('ses', Date.now());
    await createSession(database.pool, { id, tokenHash, userId, passwordHash, address: '::1' });
    return { id, isAlive: async () => (await findSession(database.pool, tokenHash)) !== undefined };
  }

  it('that an administrator disables by SQL have no session any more', async () => {
    const { id } = await database.addUser();
    const session = await signIn(id);
    expect(await session.isAlive()).toBe(true);
    await sql(database.url, `update users set disabled_at = now() where id = '${id}'`);
    expect(await session.isAlive()).toBe(false);
  });

  it('are created with their rights, and one email address is one user', async () => {
    const { pool, addOrganization, events } = database;
    const organizationId = await addOrganization();
    const id = newId('usr', Date.now());
    const membership = { organizationId, role: 'member' as const };
    const made = await createUser(pool, { id, email: 'ada@example.com', isOperator: false, membership }, ADA);
    const user = {
      ...{ id, email: 'ada@example.com', isOperator: false, invited: true, createdAtMs: expect.any(Number) },
      memberships: [{ organizationId, name: 'Acme', role: 'member', suspended: false }],
    };
    expect(made).toEqual({ kind: 'created', user });
    expect(await findUser(pool, id)).toEqual(user);
    expect(await findUserByEmail(pool, 'ada@example.com')).toEqual(user);
    expect(await events(id)).toEqual([
      {
        ...{ action: 'user.created', organization_id: organizationId, subject_id: id, subject_name: 'ada@example.com' },
        ...{ actor: ADA.actor, actor_user_id: ADA.userId, address: ADA.address },
        changes: { email: [null, 'ada@example.com'], isOperator: [null, false], role: [null, 'member'] },
      },
    ]);
    const again = { id: newId('usr', Date.now()), email: 'ada@example.com', isOperator: true, membership };
    expect(await createUser(pool, again, ADA)).toEqual({ kind: 'email_taken' });
    expect(await events(again.id)).toEqual([]);
    const elsewhere = { ...membership, organizationId: `org-${'0'.repeat(26)}` };
    const lost = { ...again, email: 'eve@example.com', membership: elsewhere };
    expect(await createUser(pool, lost, ADA)).toEqual({ kind: 'unknown_organization' });
    expect(await findUserByEmail(pool, 'eve@example.com')).toBeUndefined();
    expect(await findUser(pool, NOBODY)).toBeUndefined();
  });

  it('are created once when two create them concurrently', async () => {
    const make = () => {
      const user = { id: newId('usr', Date.now()), email: 'race@example.com', isOperator: false };
      return createUser(database.pool, user, BY);
    };
    const kinds = (await Promise.all([make(), make(), make()])).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['created', 'email_taken', 'email_taken']);
  });

  it('are listed by email address in pages, and found by part of it', async () => {
    const other = await openAudited();
    const emails = ['a_b@x.example', 'ab@x.example', 'b%c@y.example', 'c@y.example', 'd@z.example'];
    for (const email of emails.toReversed()) {
      await createUser(other.pool, { id: newId('usr', Date.now()), email, isOperator: false }, BY);
    }
    const page = async (query: object) =>
      (await listUsers(other.pool, { limit: 2, ...query })).map(({ email }) => emails.indexOf(email));
    expect(await page({})).toEqual([0, 1]);
    expect(await page({ afterEmail: emails[1] })).toEqual([2, 3]);
    expect(await page({ afterEmail: emails[3] })).toEqual([4]);
    expect(await page({ search: 'Y.EXAMPLE' })).toEqual([2, 3]);
    expect(await page({ search: 'y.example', afterEmail: emails[2] })).toEqual([3]);
    // Neither `_` nor `%` is a wildcard.
    expect(await page({ search: '_' })).toEqual([0]);
    expect(await page({ search: '%' })).toEqual([2]);
    await other.close();
  });

  it('return their password hash only for the comparison of passwords', async () => {
    const { pool, addUser } = database;
    const user = await addUser();
    const invited = await addUser({ isInvited: true });
    expect(JSON.stringify([user, await listUsers(pool, { limit: 500 })])).not.toContain(PASSWORD_HASH);
    const known = { userId: user.id, disabled: false, passwordHash: PASSWORD_HASH };
    expect(await findCredentials(pool, user.email)).toEqual(known);
    expect(await findCredentials(pool, invited.email)).toEqual({ userId: invited.id, disabled: false });
    expect(await findCredentials(pool, 'nobody@example.com')).toBeUndefined();
  });

  it('who get a new password are signed out everywhere, except where it was set', async () => {
    const { pool, addUser, events } = database;
    const user = await addUser();
    const bystander = await signIn((await addUser()).id);
    const [here, there] = [await signIn(user.id), await signIn(user.id)];
    expect(await setPasswordHash(pool, user.id, 'new hash', ADA, { sessionId: here.id, formerHash: 'x' })).toBe(false);
    expect([await here.isAlive(), await there.isAlive()]).toEqual([true, true]);
    const change = { sessionId: here.id, formerHash: PASSWORD_HASH };
    expect(await setPasswordHash(pool, user.id, 'new hash', ADA, change)).toBe(true);
    expect([await here.isAlive(), await there.isAlive(), await bystander.isAlive()]).toEqual([true, false, true]);
    expect(await setPasswordHash(pool, user.id, 'newer hash', BY)).toBe(true);
    expect([await here.isAlive(), await bystander.isAlive()]).toEqual([false, true]);
    expect((await findCredentials(pool, user.email))?.passwordHash).toBe('newer hash');
    const event = { action: 'user.password_set', organization_id: null, changes: {} };
    expect((await events(user.id)).filter(isChange)).toMatchObject([event, event]);
    expect(await setPasswordHash(pool, NOBODY, 'x', BY)).toBe(false);
    const [row] = await sql<{ dump: string }>(
      database.url,
      "select string_agg(audit_log::text, '') as dump from audit_log",
    );
    expect(row?.dump).not.toMatch(/newe?r? hash|what the password/);
  });

  it('who are disabled are signed out at once, and may sign in again when they are enabled', async () => {
    const { pool, addUser, events } = database;
    const user = await addUser();
    const session = await signIn(user.id);
    const disabled = await setDisabled(pool, user.id, true, ADA);
    const disabledAtMs = disabled.kind === 'done' ? disabled.user.disabledAtMs : undefined;
    expect(disabledAtMs).toBeGreaterThan(Date.now() - 60_000);
    expect(await session.isAlive()).toBe(false);
    expect(await (await signIn(user.id)).isAlive()).toBe(false);
    expect(await setDisabled(pool, user.id, true, BY)).toEqual(disabled);
    expect(await findCredentials(pool, user.email)).toMatchObject({ disabled: true });
    expect(await setDisabled(pool, user.id, false, ADA)).toMatchObject({ kind: 'done', user });
    expect((await findUser(pool, user.id))?.disabledAtMs).toBeUndefined();
    expect(await session.isAlive()).toBe(false);
    expect(await (await signIn(user.id)).isAlive()).toBe(true);
    expect((await events(user.id)).filter(isChange)).toMatchObject([
      { action: 'user.disabled', changes: { disabledAtMs: [null, disabledAtMs] } },
      { action: 'user.enabled', changes: { disabledAtMs: [disabledAtMs, null] } },
    ]);
    expect(await setDisabled(pool, NOBODY, true, BY)).toEqual({ kind: 'unknown_user' });
  });

  it('keep an operator who can sign in, also when operators disable each other concurrently', async () => {
    const other = await openAudited();
    const { pool } = other;
    const first = await other.addUser({ isOperator: true });
    expect(await setDisabled(pool, first.id, true, BY)).toEqual({ kind: 'last_operator' });
    // Neither can sign in: one has only an invitation, and one is disabled.
    await other.addUser({ isOperator: true, isInvited: true });
    const gone = await other.addUser({ isOperator: true });
    expect(await setDisabled(pool, gone.id, true, BY)).toMatchObject({ kind: 'done' });
    expect(await setDisabled(pool, first.id, true, BY)).toEqual({ kind: 'last_operator' });
    for (let round = 0; round < 8; round++) {
      const operators = [first, await other.addUser({ isOperator: true }), await other.addUser({ isOperator: true })];
      const results = await Promise.all(operators.map(({ id }) => setDisabled(pool, id, true, BY)));
      expect(results.map(({ kind }) => kind).sort()).toEqual(['done', 'done', 'last_operator']);
      const [{ left } = { left: -1 }] = await sql<{ left: number }>(
        other.url,
        'select count(*)::int as left from users where is_operator and disabled_at is null and password_hash is not null',
      );
      expect(left).toBe(1);
      await setDisabled(pool, first.id, false, BY);
      for (const { id } of operators.slice(1)) await setDisabled(pool, id, true, BY);
    }
    await other.close();
  });
});
