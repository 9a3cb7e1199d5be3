import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { verifyPassword } from '#dashboard/server/sign-in/password.ts';
import { newToken } from '#dashboard/server/sign-in/session-token.ts';
import { createSession, findSession } from '#database/sign-in/sessions.ts';
import { findCredentials } from '#database/users/users.ts';
import { addKey, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';
import { type Json, operatorCommands } from './operator-commands.ts';

describe('users on the operator command line', () => {
  const database = opened(openAudited);

  const { run, done, refusal } = operatorCommands(() => database.url);
  async function opens(email: string, password: unknown): Promise<boolean | 'busy'> {
    const credentials = await findCredentials(database.pool, email);
    return verifyPassword(String(password), credentials?.passwordHash);
  }
  const listed = async (email: string) =>
    ((await done('user', 'list')) as { users: Json[] }).users.find((user) => user.email === email);

  it('are created with a password that is shown once and works', async () => {
    const organizationId = await database.addOrganization();
    const created = await done('user', 'create', '--email', ' Ada@Example.com', '--org', organizationId);
    expect(created).toEqual({
      id: expect.stringMatching(/^usr-[0-9A-Z]{26}$/),
      email: 'ada@example.com',
      password: expect.stringMatching(/^([0-9a-z]{4}-){4}[0-9a-z]{4}$/),
    });
    expect(await opens('ada@example.com', created.password)).toBe(true);
    const shown = {
      ...{ id: created.id, email: 'ada@example.com', operator: false, state: 'active', last_signed_in_at: null },
      ...{ organizations: [{ id: organizationId, role: 'owner' }], created_at: expect.stringMatching(/Z$/) },
    };
    expect(await listed('ada@example.com')).toEqual(shown);
    const [row] = await sql<{ dump: string }>(
      database.url,
      "select (select string_agg(users::text, '') from users) || (select string_agg(audit_log::text, '') from audit_log) as dump",
    );
    expect(row?.dump).toContain('ada@example.com');
    expect(row?.dump).not.toContain(created.password);
    expect((await database.events(String(created.id)))[0]).toMatchObject({
      ...{ action: 'user.created', organization_id: organizationId },
      ...{ actor: `${userInfo().username}@${hostname()}`, actor_user_id: null, address: null },
    });
  });

  it('are members or operators according to the flags', async () => {
    const organizationId = await database.addOrganization();
    await done('user', 'create', '--email', 'm@example.com', '--org', organizationId, '--role', 'member');
    expect(await listed('m@example.com')).toMatchObject({ organizations: [{ id: organizationId, role: 'member' }] });
    await done('user', 'create', '--email', 'o@example.com', '--operator');
    expect(await listed('o@example.com')).toMatchObject({ operator: true, organizations: [] });
    const list = await run('user', 'list');
    expect(list.kind === 'done' && list.text).toMatch(
      /m@example\.com +active +member of org-.*\no@example\.com +active +operator/,
    );
  });

  it('get a new password that ends their sessions and replaces the old one', async () => {
    const created = await done('user', 'create', '--email', 'r@example.com', '--operator');
    const { tokenHash } = newToken();
    const passwordHash = (await findCredentials(database.pool, 'r@example.com'))?.passwordHash ?? '';
    const session = {
      id: newId('ses', Date.now()),
      tokenHash,
      userId: String(created.id),
      passwordHash,
      address: '::1',
    };
    expect(await createSession(database.pool, session)).toBe(true);
    const reset = await done('user', 'reset-password', 'R@example.com');
    expect(reset).toEqual({ ...created, password: expect.stringMatching(/^[0-9a-z-]{24}$/) });
    expect(await findSession(database.pool, tokenHash)).toBeUndefined();
    expect(await opens('r@example.com', created.password)).toBe(false);
    expect(await opens('r@example.com', reset.password)).toBe(true);
  });

  it('are disabled and enabled, except the last operator', async () => {
    await done('user', 'create', '--email', 'd@example.com');
    expect(await done('user', 'disable', 'd@example.com')).toMatchObject({ state: 'disabled' });
    expect(await done('user', 'disable', 'd@example.com')).toMatchObject({ state: 'disabled' });
    expect(await done('user', 'enable', 'd@example.com')).toMatchObject({ state: 'active' });
    await sql(database.url, 'update users set is_operator = false');
    await done('user', 'create', '--email', 'last@example.com', '--operator');
    expect(await refusal('refused', 'user', 'disable', 'last@example.com')).toBe(
      'last@example.com is the last operator who can sign in: make another first (user create --operator).',
    );
    expect(await listed('last@example.com')).toMatchObject({ state: 'active' });
  });

  it('are disabled together with their keys, unless the keys are kept', async () => {
    const organizationId = await database.addOrganization();
    const disabled = async (email: string, ...flags: string[]) => {
      const { id } = (await done('user', 'create', '--email', email, '--org', organizationId)) as { id: string };
      const { keyId } = await addKey(database, organizationId);
      await sql(database.url, `update keys set created_by = '${id}' where id = '${keyId}'`);
      const result = await done('user', 'disable', email, ...flags);
      return [result.revoked_keys, (await database.administration.key(organizationId, keyId))?.revoked];
    };
    expect(await disabled('kept@example.com', '--keep-keys')).toEqual([0, false]);
    expect(await disabled('gone@example.com')).toEqual([1, true]);
    expect(await done('user', 'disable', 'kept@example.com')).toMatchObject({ state: 'disabled', revoked_keys: 1 });
  });

  it('are refused if they are invalid or unknown', async () => {
    await done('user', 'create', '--email', 'twice@example.com');
    const twice = await refusal('refused', 'user', 'create', '--email', 'TWICE@example.com', '--operator');
    expect(twice).toBe('The user twice@example.com exists already.');
    const nobody = `org-${'0'.repeat(26)}`;
    expect(await refusal('refused', 'user', 'create', '--email', 'x@example.com', '--org', nobody)).toBe(
      `There is no organization ${nobody}.`,
    );
    expect(await refusal('refused', 'user', 'create', '--email', 'x@example.com', '--org', 'acme')).toContain('"acme"');
    expect(await listed('x@example.com')).toBeUndefined();
    for (const command of ['reset-password', 'disable', 'enable']) {
      expect(await refusal('refused', 'user', command, 'nobody@example.com')).toContain('"nobody@example.com"');
      expect(await refusal('refused', 'user', command, 'nobody')).toContain('"nobody"');
    }
  });

  it('sign in by a link that the command shows and does not store', async () => {
    await done('user', 'create', '--email', 'way@example.com', '--operator');
    const made = await done('user', 'sign-in-link', 'way@example.com');
    expect(made).toMatchObject({ email: 'way@example.com', path: expect.stringMatching(/^\/link#[\w-]{43}$/) });
    expect(Date.parse(String(made.expires_at)) - Date.now()).toBeLessThan(16 * 60_000);
    expect((await database.events(String(made.id))).at(-1)).toMatchObject({ action: 'user.sign_in_link' });
    expect(await refusal('refused', 'user', 'sign-in-link', 'nobody@example.com')).toContain('There is no user');
  });

  it('are unbound from their identity, and are then no operators by claim', async () => {
    const { id } = await done('user', 'create', '--email', 'bound@example.com');
    await sql(
      database.url,
      `insert into user_identities (issuer, subject, user_id) values ('https://i.example', 's', '${id}')`,
    );
    await sql(
      database.url,
      `update users set is_operator = true, operator_by_claim = true, password_hash = null where id = '${id}'`,
    );
    expect(await listed('bound@example.com')).toMatchObject({ state: 'active', operator: true });
    expect(await done('user', 'unbind', 'bound@example.com')).toEqual({ id, email: 'bound@example.com', unbound: 1 });
    expect(await listed('bound@example.com')).toMatchObject({ state: 'invited', operator: false });
    expect((await database.events(String(id))).at(-1)).toMatchObject({ action: 'user.identity_removed' });
    expect(await done('user', 'unbind', 'bound@example.com')).toMatchObject({ unbound: 0 });
  });

  it.each([
    [['user', 'create'], '--email E is required.'],
    [
      ['user', 'create', '--email', 'a@example.com', '--org', 'x', '--operator'],
      '--org and --operator exclude each other: an operator has every right in every organization.',
    ],
    [['user', 'create', '--email', 'nobody'], '--email takes an e-mail address, not "nobody".'],
    [['user', 'create', '--email', 'a@b.c', '--role', 'owner'], 'it needs --org ID'],
    [
      ['user', 'create', '--email', 'a@b.c', '--org', `org-${'0'.repeat(26)}`, '--role', 'boss'],
      '--role takes owner or member, not "boss".',
    ],
  ])('refuses %j with the accepted form', async (args, text) => {
    expect(await refusal('usage', ...args)).toContain(text);
  });

  it('are listed completely, also above one page', async () => {
    await sql(
      database.url,
      `insert into users (id, email) select 'usr-' || lpad(n::text, 26, '0'), n || '@many.example' from generate_series(1, 1100) n`,
    );
    const { users } = (await done('user', 'list')) as { users: Json[] };
    const many = users.filter(({ email }) => String(email).endsWith('@many.example'));
    expect(new Set(many.map(({ id }) => id)).size).toBe(1_100);
    expect(many[0]).toMatchObject({ state: 'invited', organizations: [] });
  });
});
