import { beforeAll, describe, expect, it } from 'vitest';
import type { UserRow } from '#contract/operator.ts';
import type { LinkView, MemberView } from '#contract/people.ts';
import type { PasswordLinkView, SessionView } from '#contract/session.ts';
import { hashPassword } from '#dashboard/server/sign-in/password.ts';
import { findUserByEmail } from '#database/users/user-rows.ts';
import { sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser, Reply } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

interface Invited {
  readonly member: MemberView;
  readonly link: LinkView;
}

const PASSWORD = 'correct horse battery';
const OTHER = 'a completely different one';

/**
 * An invitation is a pair of organization and address. It reserves no account, reveals none, and
 * gives no access to an existing one.
 */
describe('invitations', () => {
  const dashboard = opened(startDashboard);
  let passwordHash: string;
  let organizations: Record<'a' | 'b', string>;
  let owners: Record<'a' | 'b', Browser>;
  let operator: Browser;
  let people = 0;

  beforeAll(async () => {
    passwordHash = await hashPassword(PASSWORD);
    organizations = { a: await dashboard.addOrganization('A'), b: await dashboard.addOrganization('B') };
    const owner = async (id: string) => dashboard.signedIn(await dashboard.addUser({ in: [id, 'owner'] }));
    owners = { a: await owner(organizations.a), b: await owner(organizations.b) };
    operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
  });

  const newEmail = () => `v-${++people}@x.example`;
  const path = (of: 'a' | 'b') => `/api/organizations/${organizations[of]}/members`;
  const invite = (of: 'a' | 'b', email: string, by: Browser = owners[of], more: object = {}) =>
    by.send<Invited>('POST', path(of), { email, role: 'member', ...more });
  const renew = (of: 'a' | 'b', id: string, by: Browser = owners[of]) =>
    by.send<LinkView>('POST', `${path(of)}/${id}/invitation`);
  const members = async (of: 'a' | 'b') =>
    (await owners[of].get<{ members: MemberView[] }>(path(of))).body.members.map(({ email }) => email);
  const tokenOf = ({ url = '' }: LinkView) => url.split('#')[1] ?? '';
  const use = ({ body }: Reply<{ link: LinkView }>, password = PASSWORD, browser = dashboard.browser()) =>
    browser.send<SessionView>('POST', '/api/password-links/use', { token: tokenOf(body.link), password });
  const inspect = ({ body }: Reply<{ link: LinkView }>) =>
    dashboard.browser().send<PasswordLinkView>('POST', '/api/password-links/inspection', { token: tokenOf(body.link) });
  const accept = (browser: Browser, { body }: Reply<{ link: LinkView }>) =>
    browser.send<SessionView>('POST', '/api/invitations/acceptance', { token: tokenOf(body.link) });
  const signIn = (email: string, password: string) =>
    dashboard.browser().send('POST', '/api/session', { email, password });
  const names = ({ body }: Reply<SessionView>) => body.organizations.map(({ name }) => name);
  /** The names of all properties, with the types of their values. */
  const shape = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shape(part)]))
      : typeof value;

  it('of two organizations for one address are both made, and each link joins only its organization', async () => {
    const email = newEmail();
    const [toA, toB] = [await invite('a', email), await invite('b', email)];
    expect([toA.status, toB.status]).toEqual([200, 200]);
    expect(await findUserByEmail(dashboard.database, email)).toBeUndefined();
    const session = await use(toB);
    expect([session.status, names(session)]).toEqual([200, ['B']]);
    expect(session.body.invitations).toMatchObject([{ organization: 'A', role: 'member' }]);
    expect(await members('a')).toContain(email);
    const joined = await use(toA);
    expect(names(joined)).toEqual(['A', 'B']);
    expect(joined.body).not.toHaveProperty('invitations');
  });

  it('look the same to an owner for addresses with an account and without', async () => {
    const known = await dashboard.addUser({ passwordHash });
    const disabled = await dashboard.addUser({ passwordHash });
    await operator.send('POST', `/api/users/${disabled.id}/disablement`);
    const reserved = newEmail();
    await operator.send('POST', '/api/users', { email: reserved, operator: true });
    const replies: Reply<Invited>[] = [];
    for (const email of [newEmail(), known.email, disabled.email, reserved]) replies.push(await invite('a', email));
    const looks = await Promise.all(replies.map(inspect));
    for (const all of [replies, looks]) {
      expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(all.map(({ body }) => JSON.stringify(shape(body)))).size).toBe(1);
    }
    const listed = await owners.a.get<{ members: MemberView[] }>(path('a'));
    const rows = listed.body.members.filter(({ email }) => replies.some(({ body }) => body.member.email === email));
    expect(new Set(rows.map((row) => JSON.stringify(shape(row)))).size).toBe(1);
    expect(rows.map(({ userId }) => userId)).not.toContain(known.id);
  });

  it('take as much CPU for an address with an account as without', async () => {
    const { email } = await dashboard.addUser({ passwordHash });
    const cheapestMs = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 8; round++) {
      for (const who of ['known', 'unknown'] as const) {
        const before = process.cpuUsage();
        const { body } = await invite('a', who === 'known' ? email : newEmail());
        const { user, system } = process.cpuUsage(before);
        cheapestMs[who] = Math.min(cheapestMs[who], (user + system) / 1000);
        await owners.a.send('DELETE', `${path('a')}/${body.member.userId}`);
      }
    }
    // A comparison of passwords takes more than twenty.
    expect(Math.abs(cheapestMs.known - cheapestMs.unknown)).toBeLessThan(10);
  });

  it('give no session of an existing account, and do not change its password', async () => {
    const { id, email } = await dashboard.addUser({ passwordHash });
    const link = await invite('a', email);
    const refused = await use(link, OTHER);
    expect([refused.status, refused.body.problem]).toEqual([403, 'wrong_password']);
    expect(refused.headers).not.toHaveProperty('set-cookie');
    expect((await signIn(email, OTHER)).status).toBe(403);
    expect((await signIn(email, PASSWORD)).status).toBe(200);
    // The account's password and a session of the account can both accept the invitation.
    expect(names(await use(link, PASSWORD))).toEqual(['A']);
    const toB = await invite('b', email);
    const here = await dashboard.signedIn({ id, passwordHash });
    const stranger = await dashboard.signedIn(await dashboard.addUser());
    expect((await accept(stranger, toB)).body.problem).toBe('conflict');
    expect(names(await accept(here, toB))).toEqual(['A', 'B']);
    expect((await accept(here, toB)).body.problem).toBe('link_used_or_expired');
  });

  it('of a disabled user sign nobody in', async () => {
    const { id, email } = await dashboard.addUser({ passwordHash });
    const link = await invite('a', email);
    await operator.send('POST', `/api/users/${id}/disablement`);
    expect((await use(link, PASSWORD)).status).toBe(403);
  });

  it('cannot create an account once an operator has added the address anywhere', async () => {
    const made = newEmail();
    const foreign = await invite('a', made);
    const body = { email: made, operator: false, organizationId: organizations.b };
    const created = await operator.send<{ user: UserRow; link: LinkView }>('POST', '/api/users', body);
    expect((await use(foreign, OTHER)).status).toBe(403);
    expect(names(await use(created, PASSWORD))).toEqual(['B']);
    // The account exists now, so it can accept the invitation with its password.
    expect(names(await use(foreign, PASSWORD))).toEqual(['A', 'B']);

    const invited = newEmail();
    const [toA, toB] = [await invite('a', invited), await invite('b', invited, operator)];
    expect([(await use(toA, OTHER)).body.problem, (await signIn(invited, OTHER)).status]).toEqual(['conflict', 403]);
    expect(names(await use(toB, PASSWORD))).toEqual(['B']);
  });

  it('of an owner are replaced by an operator’s of the same organization, for which owners get no links', async () => {
    const email = newEmail();
    const first = await invite('a', email);
    expect((await invite('a', email)).status).toBe(409);
    const second = await invite('a', email, operator, { role: 'owner' });
    expect([second.status, second.body.member.userId]).toEqual([200, first.body.member.userId]);
    expect((await use(first)).status).toBe(410);
    expect((await renew('a', second.body.member.userId)).status).toBe(409);
    expect((await use(second)).body.organizations).toMatchObject([{ name: 'A', role: 'owner' }]);
  });

  it('of an operator cannot be withdrawn by an owner, who could then invite the address', async () => {
    const email = newEmail();
    const { body } = await invite('a', email, operator);
    const withdraw = (by: Browser) => by.send('DELETE', `${path('a')}/${body.member.userId}`);
    const calls = [
      () => renew('a', body.member.userId),
      () => invite('a', email),
      () => withdraw(owners.a),
      () => invite('a', email),
    ];
    for (const call of calls) expect((await call()).status).toBe(409);
    expect(await members('a')).toContain(email);
    expect((await withdraw(operator)).status).toBe(200);
    const own = await invite('a', email);
    expect(own.status).toBe(200);
    expect((await owners.a.send('DELETE', `${path('a')}/${own.body.member.userId}`)).status).toBe(200);
  });

  it('are named in a warning when an operator adds an account that was created by one', async () => {
    const email = newEmail();
    await use(await invite('a', email));
    const warned = await invite('b', email, operator);
    expect(warned.body.fields?.email).toContain('made by an invitation of an owner of “A”');
    expect((await invite('b', email, operator, { known: true })).status).toBe(200);
  });

  it('can be changed, withdrawn and renewed only by their own organization, and expire', async () => {
    const email = newEmail();
    const link = await invite('a', email);
    const { userId } = link.body.member;
    const one = `/${userId}`;
    expect((await owners.b.send('DELETE', `${path('b')}${one}`)).status).toBe(404);
    const changed = await owners.a.send<MemberView>('PATCH', `${path('a')}${one}`, { role: 'owner' });
    expect(changed.body).toMatchObject({ email, role: 'owner', invited: true });
    await sql(dashboard.databaseUrl, `update invitations set expires_at = now() where id = '${userId}'`);
    expect([(await use(link)).status, (await inspect(link)).status]).toEqual([410, 410]);
    expect(await members('a')).toContain(email);
    const again = await renew('a', userId);
    expect(again.body.expiresAtMs - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    expect((await owners.a.send('DELETE', `${path('a')}${one}`)).status).toBe(200);
    expect(await members('a')).not.toContain(email);
    expect((await renew('a', userId)).status).toBe(404);
    const token = { token: tokenOf(again.body), password: PASSWORD };
    expect((await dashboard.browser().send('POST', '/api/password-links/use', token)).status).toBe(410);
    const events = await sql<{ action: string }>(
      dashboard.databaseUrl,
      `select action from audit_log where subject_id = '${userId}' order by id`,
    );
    expect(events.map(({ action }) => action.split('.')[1])).toEqual(['invited', 'role_changed', 'invited', 'removed']);
  });

  it('of two organizations that are used at the same time make one account', async () => {
    const email = newEmail();
    const links = [await invite('a', email), await invite('b', email)];
    const replies = await Promise.all(links.map((link, index) => use(link, index === 0 ? PASSWORD : OTHER)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 403]);
    const user = await findUserByEmail(dashboard.database, email);
    expect(user?.memberships).toHaveLength(1);
  });
});
