import { beforeAll, describe, expect, it } from 'vitest';
import type { UserRow } from '#contract/operator.ts';
import type { LinkView, MemberView } from '#contract/people.ts';
import { sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

interface Invited {
  readonly member: MemberView;
  readonly link?: LinkView;
}

const dashboard = opened(startDashboard);
let operator: Browser;
let operatorId: string;
let firstId: string;
let otherId: string;
let owner: Browser;
let ownerId: string;
let otherOwner: Browser;

beforeAll(async () => {
  firstId = await dashboard.addOrganization('First');
  otherId = await dashboard.addOrganization('Other');
  const one = await dashboard.addUser({ in: [firstId, 'owner'] });
  ownerId = one.id;
  owner = await dashboard.signedIn(one);
  otherOwner = await dashboard.signedIn(await dashboard.addUser({ in: [otherId, 'owner'] }));
  const boss = await dashboard.addUser({ operator: true });
  operatorId = boss.id;
  operator = await dashboard.signedIn(boss);
});

const membersPath = (organizationId = firstId) => `/api/organizations/${organizationId}/members`;
const invite = (browser: Browser, email: string, role = 'member', organizationId = firstId) =>
  browser.send<Invited>('POST', membersPath(organizationId), { email, role });
const add = (browser: Browser, email: string) =>
  browser.send<Invited>('POST', membersPath(), { email, role: 'member', known: true });
const newLink = (browser: Browser, userId: string, organizationId = firstId) =>
  browser.send<LinkView>('POST', `${membersPath(organizationId)}/${userId}/invitation`);
const setRole = (browser: Browser, userId: string, role: string) =>
  browser.send<MemberView>('PATCH', `${membersPath()}/${userId}`, { role });
const remove = (browser: Browser, userId: string) => browser.send('DELETE', `${membersPath()}/${userId}`);
const members = async () => (await owner.get<{ members: MemberView[] }>(membersPath())).body.members;

const actionsOf = async (userId: string) => {
  const query = `select action, organization_id from audit_log where subject_id = '${userId}' order by id`;
  const rows = await sql<{ action: string; organization_id: string | null }>(dashboard.databaseUrl, query);
  return rows.map(({ action, organization_id: of }) => (of === null ? action : `${action} ${of === firstId ? 1 : 2}`));
};

describe('inviting', () => {
  it('creates an invitation and a link; a new link invalidates the former one', async () => {
    const { body } = await invite(owner, 'new@example.com', 'owner');
    expect(body.member).toMatchObject({ email: 'new@example.com', role: 'owner', invited: true, disabled: false });
    expect(await members()).toContainEqual(body.member);
    const again = await newLink(owner, body.member.userId);
    expect(again.body.url).not.toBe(body.link?.url);
    const token = body.link?.url?.split('#')[1];
    const inspection = await dashboard.browser().send('POST', '/api/password-links/inspection', { token });
    expect(inspection.body.problem).toBe('link_used_or_expired');
    expect(await actionsOf(body.member.userId)).toEqual(['user.invited 1', 'user.invited 1']);
  });

  it('adds an existing user at once only for operators, after a warning', async () => {
    const user = await dashboard.addUser();
    const warned = await invite(operator, user.email);
    expect([warned.status, warned.body.fields?.email]).toEqual([409, expect.stringContaining('never verified')]);
    expect(await members()).not.toContainEqual(expect.objectContaining({ email: user.email }));
    const { body } = await add(operator, user.email);
    expect(body).toEqual({ member: expect.objectContaining({ userId: user.id, role: 'member', invited: false }) });
    expect(await actionsOf(user.id)).toEqual(['user.created', 'user.added 1']);
    for (const browser of [owner, operator]) {
      const twice = await invite(browser, user.email, 'owner');
      expect([twice.status, Object.keys(twice.body.fields ?? {})]).toEqual([409, ['email']]);
    }
    const link = await newLink(owner, user.id);
    expect([link.status, link.body.problem]).toEqual([409, 'conflict']);
    expect(link.body.message).toContain('Operators can reset it');
  });

  it('the same person concurrently makes one member', async () => {
    const replies = await Promise.all([1, 2, 3].map(() => invite(owner, 'race@example.com')));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await members()).filter(({ email }) => email === 'race@example.com')).toHaveLength(1);
  });

  it('gives owners no link for operators or for people whom an operator invited', async () => {
    expect(
      (await newLink(otherOwner, (await invite(owner, 'pending@example.com')).body.member.userId, otherId)).status,
    ).toBe(404);
    const made = { email: 'future-boss@example.com', operator: true, organizationId: firstId, role: 'member' };
    const future = await operator.send<{ user: UserRow }>('POST', '/api/users', made);
    const pending = (await invite(operator, 'by-the-operator@example.com')).body.member;
    for (const id of [future.body.user.id, pending.userId]) {
      const stolen = await newLink(owner, id);
      expect([stolen.status, stolen.body.problem]).toEqual([409, 'conflict']);
      expect(stolen.text).not.toContain('/link#');
      expect((await newLink(operator, id)).status).toBe(200);
    }
  });

  it.each([['no address'], [''], ['a@b@c.example'], ['ä@example.com'], [`${'a'.repeat(250)}@example.com`], [null]])(
    'refuses the address %j',
    async (email) => {
      const { status, body } = await owner.send('POST', membersPath(), { email, role: 'member' });
      expect([status, Object.keys(body.fields ?? {})]).toEqual([400, ['email']]);
    },
  );

  it('cannot make operators', async () => {
    const { body } = await invite(owner, 'boss@example.com', 'operator');
    expect(body.fields).toEqual({ role: 'Owner or member.' });
  });
});

describe('a member', () => {
  it('has the role that an owner sets, from the next request on', async () => {
    const user = await dashboard.addUser({ in: [firstId, 'member'] });
    const browser = await dashboard.signedIn(user);
    expect((await browser.get(membersPath())).status).toBe(403);
    expect((await setRole(owner, user.id, 'owner')).body.role).toBe('owner');
    expect((await browser.get(membersPath())).status).toBe(200);
    expect((await setRole(browser, user.id, 'member')).body.role).toBe('member');
    expect((await setRole(browser, user.id, 'owner')).status).toBe(403);
    expect((await remove(owner, user.id)).body).toEqual({});
    expect((await browser.get(`/api/organizations/${firstId}/keys`)).status).toBe(404);
    expect((await browser.get('/api/session')).body).toMatchObject({ organizations: [] });
    expect((await remove(owner, user.id)).status).toBe(404);
    expect(await actionsOf(user.id)).toEqual([
      'user.created 1',
      'user.signed_in',
      'user.role_changed 1',
      'user.role_changed 1',
      'user.removed 1',
    ]);
  });

  it('who is the last owner can be changed or removed only by an operator', async () => {
    for (const { userId, role } of await members()) {
      if (role === 'owner' && userId !== ownerId) await remove(operator, userId);
    }
    for (const reply of [await setRole(owner, ownerId, 'member'), await remove(owner, ownerId)]) {
      expect([reply.status, reply.body.problem]).toEqual([409, 'conflict']);
    }
    expect((await setRole(operator, ownerId, 'member')).status).toBe(200);
    expect((await setRole(operator, ownerId, 'owner')).status).toBe(200);
  });
});

describe('users, for operators', () => {
  const create = (body: object) => operator.send<{ user: UserRow; link: LinkView }>('POST', '/api/users', body);

  it('are created as operators or in an organization', async () => {
    const boss = await create({ email: 'Second-Boss@example.com', operator: true });
    expect(boss.body.user).toMatchObject({ email: 'second-boss@example.com', isOperator: true, memberships: [] });
    expect(boss.body.link.url).toContain('/link#');
    const one = await create({ email: 'one@example.com', operator: false, organizationId: firstId, role: 'member' });
    expect(one.body.user.memberships).toEqual([{ organizationId: firstId, name: 'First', role: 'member' }]);
    const two = await create({ email: 'two@example.com', operator: false, organizationId: firstId });
    expect(two.body.user.memberships).toMatchObject([{ role: 'owner' }]);
    expect(two.body.user.invited).toBe(true);
  });

  it.each<[string, object, number, string]>([
    ['neither operator nor of an organization', { operator: false }, 400, 'organizationId'],
    ['with a role in nothing', { operator: true, role: 'owner' }, 400, 'role'],
    ['of no organization', { operator: false, organizationId: `org-${'0'.repeat(26)}` }, 400, 'organizationId'],
    ['of an organization of another form', { operator: false, organizationId: 'x' }, 400, 'organizationId'],
    ['without saying whether they are operators', {}, 400, 'operator'],
  ])('are not created %s', async (_, body, status, field) => {
    const reply = await create({ email: 'never@example.com', ...body });
    expect([reply.status, Object.keys(reply.body.fields ?? {})]).toEqual([status, [field]]);
    expect((await operator.get<{ users: UserRow[] }>('/api/users?search=never')).body.users).toEqual([]);
  });

  it('have one e-mail address each', async () => {
    const { email } = await dashboard.addUser();
    const reply = await create({ email, operator: true });
    expect([reply.status, Object.keys(reply.body.fields ?? {})]).toEqual([409, ['email']]);
  });

  it('are listed by e-mail address in pages, and found by a part of it', async () => {
    for (let i = 0; i < 51; i++) await dashboard.addUser({ email: `page-${String(i).padStart(2, '0')}@list.example` });
    const list = async (query: string) =>
      (await operator.get<{ users: UserRow[]; next?: string }>(`/api/users?${query}`)).body;
    const first = await list('search=LIST.example');
    expect(first.users).toHaveLength(50);
    expect(first.next).toBe('page-49@list.example');
    const second = await list(`search=LIST.example&after=${first.next}`);
    expect(second).toEqual({ users: [expect.objectContaining({ email: 'page-50@list.example' })] });
    expect(first.users[0]).toEqual({
      ...{ id: expect.any(String), email: 'page-00@list.example', isOperator: false, invited: false },
      ...{ createdAtMs: expect.any(Number), memberships: [] },
    });
    expect((await list('search=%25')).users).toEqual([]);
    expect((await operator.get('/api/users?search=')).status).toBe(400);
    expect((await operator.get('/api/users?limit=1000')).status).toBe(400);
  });

  it('are disabled and enabled again, but nobody disables themselves', async () => {
    const user = await dashboard.addUser({ in: [firstId, 'member'] });
    const browser = await dashboard.signedIn(user);
    const path = `/api/users/${user.id}/disablement`;
    const disabled = await operator.send<UserRow>('POST', path);
    expect(disabled.body.disabledAtMs).toBeGreaterThan(0);
    expect((await operator.send<UserRow>('POST', path)).body).toEqual(disabled.body);
    expect((await browser.get('/api/session')).status).toBe(401);
    expect((await members()).find(({ userId }) => userId === user.id)?.disabled).toBe(true);
    expect((await operator.send<UserRow>('DELETE', path)).body).not.toHaveProperty('disabledAtMs');
    // The former session stays ended.
    expect((await browser.get('/api/session')).status).toBe(401);
    const own = await operator.send('POST', `/api/users/${operatorId}/disablement`);
    expect([own.status, own.body]).toEqual([
      409,
      { problem: 'conflict', message: 'You cannot disable your own account. Another operator can.' },
    ]);
    expect((await operator.send('POST', `/api/users/usr-${'0'.repeat(26)}/disablement`)).status).toBe(404);
  });
});
