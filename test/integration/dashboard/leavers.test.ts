import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import type { KeyView } from '#contract/keys.ts';
import { lockWaits, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

/** The keys of members who leave and of users who are disabled. */
const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
let organizationId = '';
let operator: Browser;
let owner: Browser;
let ana = { id: '', email: '' };
let ben = { id: '', email: '' };
beforeAll(async () => {
  organizationId = await dashboard.addOrganization();
  operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
  ana = await dashboard.addUser({ in: [organizationId, 'owner'] });
  ben = await dashboard.addUser({ in: [organizationId, 'owner'] });
  owner = await dashboard.signedIn(ana);
});

const keysPath = (organization = organizationId) => `/api/organizations/${organization}/keys`;

async function addKey(user: { readonly id: string }, organization = organizationId): Promise<string> {
  const browser = await dashboard.signedIn(user);
  const made = { name: 'a key', scopes: ['chat'] };
  const { body } = await browser.send<{ key: KeyView }>('POST', keysPath(organization), made);
  return body.key.id;
}

async function keyOf(id: string, organization = organizationId) {
  const { body } = await operator.get<KeyView>(`${keysPath(organization)}/${id}`);
  return [body.state, body.createdBy];
}

async function eventsOf(key: string) {
  const rows = await sql<{ action: string; actor: string }>(
    dashboard.databaseUrl,
    `select action, actor from audit_log where subject_id = '${key}' and action <> 'key.created' order by id`,
  );
  return rows.map(({ action, actor }) => `${action} by ${actor}`);
}

async function leaver() {
  const user = await dashboard.addUser({ in: [organizationId, 'member'] });
  return { user, key: await addKey(user) };
}

const remove = (browser: Browser, userId: string, body: object = {}) =>
  browser.send('DELETE', `/api/organizations/${organizationId}/members/${userId}`, body);

it.each([[{}], [{ revokeKeys: true }]])('the keys of a removed member are revoked: %j', async (body) => {
  const { user, key } = await leaver();
  expect((await remove(owner, user.id, body)).status).toBe(200);
  expect(await keyOf(key)).toEqual(['revoked', user.email]);
  expect(await eventsOf(key)).toEqual([`key.revoked by ${ana.email}`]);
});

it('keys are handed to the named owner or to the owner who removes the member, and keep working', async () => {
  const [first, second] = [await leaver(), await leaver()];
  expect((await remove(owner, first.user.id, { keysTo: ben.id })).status).toBe(200);
  expect(await keyOf(first.key)).toEqual(['usable', ben.email]);
  expect(await eventsOf(first.key)).toEqual([`key.handed_over by ${ana.email}`]);
  expect((await remove(owner, second.user.id, { revokeKeys: false })).status).toBe(200);
  expect(await keyOf(second.key)).toEqual(['usable', ana.email]);
});

it('keys are handed only to an active owner of the organization', async () => {
  const { user, key } = await leaver();
  const member = await dashboard.addUser({ in: [organizationId, 'member'] });
  const invited = await dashboard.addUser({ in: [organizationId, 'owner'], invited: true });
  const elsewhere = await dashboard.addUser({ in: [await dashboard.addOrganization('Other'), 'owner'] });
  const refused = { problem: 'invalid', fields: { keysTo: expect.any(String) } };
  for (const to of [member, invited, elsewhere, user, { id: `usr-${'0'.repeat(26)}` }]) {
    expect((await remove(owner, user.id, { keysTo: to.id })).body).toMatchObject(refused);
  }
  expect((await remove(owner, user.id, { keysTo: ben.id, revokeKeys: true })).body).toMatchObject(refused);
  expect((await remove(operator, user.id, { revokeKeys: false })).body).toMatchObject(refused);
  expect((await remove(await dashboard.signedIn(ben), ben.id, { revokeKeys: false })).body).toMatchObject(refused);
  expect(await keyOf(key)).toEqual(['usable', user.email]);
  expect(await eventsOf(key)).toEqual([]);
});

it('keys are revoked in every organization when the user is disabled, unless they are kept', async () => {
  const other = await dashboard.addOrganization('Another');
  const [kept, gone] = [await leaver(), await leaver()];
  for (const { user } of [kept, gone]) {
    await operator.send('POST', `/api/organizations/${other}/members`, {
      ...{ email: user.email, role: 'member', known: true },
    });
  }
  const keys = [await addKey(kept.user, other), await addKey(gone.user, other)] as const;
  const disable = (userId: string, body: object) => operator.send('POST', `/api/users/${userId}/disablement`, body);
  expect((await disable(kept.user.id, { keepKeys: true })).status).toBe(200);
  expect((await disable(gone.user.id, {})).status).toBe(200);
  const states = async () => [
    ...[await keyOf(kept.key), await keyOf(keys[0], other)],
    ...[await keyOf(gone.key), await keyOf(keys[1], other)],
  ];
  expect((await states()).map(([state]) => state)).toEqual(['usable', 'usable', 'revoked', 'revoked']);
  expect(await eventsOf(keys[1])).toEqual([expect.stringMatching(/^key\.revoked by user-/)]);
  // Disabling a disabled user again without `keepKeys` revokes the keys. Enabling restores none.
  await disable(kept.user.id, {});
  await operator.send('DELETE', `/api/users/${kept.user.id}/disablement`);
  expect(new Set((await states()).map(([state]) => state))).toEqual(new Set(['revoked']));
});

const waiting = (count: number) => expect.poll(() => lockWaits(dashboard.databaseUrl)).toBe(count);

/** Begins `end`, and blocks it at the row lock of the key until `work` waits for it. */
async function whileEnding<T>(key: string, end: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  const slow = new pg.Client(dashboard.databaseUrl);
  await slow.connect();
  await slow.query('begin');
  await slow.query(`select from keys where id = '${key}' for no key update`);
  const ending = end();
  await waiting(1);
  const working = work();
  // If the work does not wait for the transaction, the test fails by its result.
  await Promise.race([working, waiting(2)]);
  await slow.query('rollback');
  await slow.end();
  await ending;
  return working;
}

describe.each<[string, (user: string) => Promise<unknown>]>([
  ['a removal', (user) => remove(owner, user)],
  ['a removal that hands keys over', (user) => remove(owner, user, { keysTo: ben.id })],
  ['a disabling', (user) => operator.send('POST', `/api/users/${user}/disablement`, {})],
])('keys, when requested during %s,', (_, end) => {
  it.each<[string, (key: string) => [method: 'POST' | 'PATCH', path: string, body: object]]>([
    ['are not made', () => ['POST', keysPath(), { name: 'late', scopes: ['chat'] }]],
    ['are not replaced', (key) => ['POST', `${keysPath()}/${key}/replacement`, { revokeOldAfterHours: 0 }]],
    ['are not changed', (key) => ['PATCH', `${keysPath()}/${key}`, { name: 'late' }]],
  ])('%s', async (__, request) => {
    const { user, key } = await leaver();
    const browser = await dashboard.signedIn(user);
    const [method, path, body] = request(key);
    const late = await whileEnding(
      key,
      () => end(user.id),
      () => browser.send(method, path, body),
    );
    expect(late.status).toBe(404);
    const made = await sql(
      dashboard.databaseUrl,
      `select id from keys where name = 'late' or (created_by = '${user.id}' and id <> '${key}')`,
    );
    expect(made).toEqual([]);
  });
});
