import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import type { SavedView } from '#contract/views.ts';
import { VIEWS_LOCK } from '#database/connection/advisory-locks.ts';
import { MAX_VIEWS } from '#database/organizations/saved-views.ts';
import { lockWaits, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const dashboard = opened(startDashboard);
let organizationId: string;
let path: string;
let owner: Browser;
let member: Browser;
let other: Browser;
let operator: Browser;
let memberEmail: string;

beforeAll(async () => {
  organizationId = await dashboard.addOrganization('Acme');
  path = `/api/organizations/${organizationId}/views`;
  const someone = await dashboard.addUser({ in: [organizationId, 'member'] });
  memberEmail = someone.email;
  member = await dashboard.signedIn(someone);
  owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
  other = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));
  operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
});

const VIEW = { name: 'Errors of yesterday', page: 'requests', search: '?range=yesterday&show=failures' };
const save = (browser: Browser, body: object, at = path) => browser.send<SavedView>('POST', at, { ...VIEW, ...body });
const change = (browser: Browser, id: string, body: object) => browser.send<SavedView>('PATCH', `${path}/${id}`, body);
const listed = async (browser: Browser, at = path) => (await browser.get<{ views: SavedView[] }>(at)).body.views;

async function saved(browser: Browser, body: object, at = path): Promise<SavedView> {
  const reply = await save(browser, body, at);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

describe('a view of an organization', () => {
  it('is visible to everybody in it, and changed only by its maker and by owners', async () => {
    const view = await saved(member, { name: ' Errors ' });
    expect(view).toEqual({
      ...{ ...VIEW, name: 'Errors', id: expect.stringMatching(/^viw-/) },
      ...{ createdBy: memberEmail, createdAtMs: expect.any(Number), mine: true },
    });
    expect(await listed(member)).toEqual([view]);
    expect(await listed(other)).toEqual([{ ...view, mine: false }]);
    expect(await listed(owner)).toEqual([view]);
    for (const reply of [
      await change(other, view.id, { name: 'Mine' }),
      await other.send('DELETE', `${path}/${view.id}`),
    ])
      expect([reply.status, reply.body]).toMatchObject([403, { problem: 'not_allowed' }]);
    expect(await listed(member)).toEqual([view]);

    const renamed = await change(owner, view.id, { name: 'Failures' });
    expect(renamed.body).toEqual({ ...view, name: 'Failures' });
    const replaced = await change(member, view.id, { page: 'overview', search: '?by=code' });
    expect(replaced.body).toEqual({ ...view, name: 'Failures', page: 'overview', search: '?by=code' });
    expect(await listed(other)).toEqual([{ ...replaced.body, mine: false }]);
    expect((await member.send('DELETE', `${path}/${view.id}`)).status).toBe(200);
    expect(await listed(member)).toEqual([]);
    expect((await change(member, view.id, { name: 'Again' })).status).toBe(404);

    const events = await sql(
      dashboard.databaseUrl,
      `select action, actor, organization_id, subject_name, changes from audit_log where subject_id = '${view.id}' order by id`,
    );
    const event = (action: string, subject_name: string, changes: object) => ({ action, subject_name, changes });
    expect(events).toMatchObject([
      event('view.created', 'Errors', { name: [null, 'Errors'], search: [null, VIEW.search] }),
      event('view.updated', 'Failures', { name: ['Errors', 'Failures'] }),
      event('view.updated', 'Failures', { page: ['requests', 'overview'], search: [VIEW.search, '?by=code'] }),
      event('view.deleted', 'Failures', { search: ['?by=code', null] }),
    ]);
    expect(events.map((one) => one.organization_id)).toEqual(events.map(() => organizationId));
    expect(events[0]).toMatchObject({ actor: memberEmail });
  });

  it('has a unique name in its organization', async () => {
    const [first, second] = [await saved(member, { name: 'Twice' }), await saved(member, { name: 'Once' })];
    for (const reply of [await save(other, { name: ' Twice' }), await change(member, second.id, { name: 'Twice' })])
      expect([reply.status, reply.body]).toMatchObject([409, { fields: { name: expect.any(String) } }]);
    expect((await change(member, first.id, { name: 'Twice', search: '' })).status).toBe(200);
    expect((await save(operator, { name: 'Twice' }, '/api/views')).status).toBe(200);
  });

  it.each<[given: string, kept: string]>([
    ['by=model&range=month', '?range=month&by=model'],
    ['?by=evil&back=https://evil.example&model=a&model=b&__proto__=x', '?model=a&model=b'],
    ['?user=<script>&range=7d', '?user=%3Cscript%3E'],
    ['//evil.example/', ''],
    ['javascript:alert(1)', ''],
    ['?user=%00%F0&user=%F0&key=key-1', '?user=%EF%BF%BD'],
  ])('keeps the parameters of %s that the page reads', async (given, kept) => {
    const view = await saved(member, { name: `Of ${given}`.slice(0, 60), search: given });
    expect(view.search).toBe(kept);
    await change(member, view.id, { search: '?by=key' });
    expect((await change(member, view.id, { search: given })).body.search).toBe(kept);
  });

  it('is bounded in its fields and in number, also when several are saved at once', async () => {
    const long = `?user=${'ü'.repeat(300)}&model=${'ü'.repeat(300)}&code=${'ü'.repeat(300)}`;
    const wrong = {
      name: [{ name: '' }, { name: 'x'.repeat(201) }, { name: 7 }],
      page: [{ page: 'operator' }, { page: '//evil.example' }],
      search: [{ search: 'x'.repeat(4001) }, { search: long }, { search: {} }],
    };
    for (const [field, bodies] of Object.entries(wrong))
      for (const body of bodies)
        expect((await save(member, body)).body).toMatchObject({
          problem: 'invalid',
          fields: { [field]: expect.any(String) },
        });
    const { length } = await listed(member);
    for (let at = length; at < MAX_VIEWS - 4; at++) await saved(operator, { name: `View ${at}` });
    const together = [member, owner, other, operator].flatMap((browser) => [browser, browser]);
    const replies = await Promise.all(together.map((browser, at) => save(browser, { name: `One of ${at}` })));
    const refused = replies.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, body }) => [status, body])).toMatchObject(
      Array.from({ length: 4 }, () => [409, { problem: 'conflict' }]),
    );
    const all = await listed(member);
    expect(all).toHaveLength(MAX_VIEWS);
    // The address of an operator without a membership is not shown.
    expect(all.find(({ name }) => name === `View ${length}`)).toMatchObject({ createdBy: 'the operator', mine: false });
    expect((await change(owner, all[0]?.id ?? '', { name: 'Still changed' })).status).toBe(200);
  });
});

it('a view over all organizations belongs to all operators, and to no organization', async () => {
  const second = await dashboard.addUser({ operator: true });
  const colleague = await dashboard.signedIn(second);
  const view = await saved(colleague, { name: 'Who runs dry', page: 'overview', search: '?sort=lasts' }, '/api/views');
  expect(await listed(operator, '/api/views')).toContainEqual({ ...view, createdBy: second.email, mine: true });
  expect((await listed(operator)).map(({ id }) => id)).not.toContain(view.id);
  // It is not found at an organization's path, and theirs are not found at its path.
  expect((await change(operator, view.id, { name: 'Taken' })).status).toBe(404);
  const [own] = await listed(owner);
  expect((await operator.send('DELETE', `/api/views/${own?.id}`)).status).toBe(404);
  for (const browser of [owner, member]) {
    expect((await browser.get('/api/views')).status).toBe(403);
    expect((await browser.send('DELETE', `/api/views/${view.id}`)).status).toBe(403);
  }
  expect(await listed(operator, '/api/views')).toContainEqual(view);
});

it('is not made by a user who is removed while it waits for its lock', async () => {
  const leaver = await dashboard.addUser({ in: [organizationId, 'member'] });
  const browser = await dashboard.signedIn(leaver);
  const slow = new pg.Client({ connectionString: dashboard.databaseUrl });
  await slow.connect();
  await slow.query('begin');
  await slow.query('select pg_advisory_xact_lock($1, hashtext($2))', [VIEWS_LOCK, organizationId]);
  const late = save(browser, { name: 'Late' });
  await expect.poll(() => lockWaits(dashboard.databaseUrl)).toBe(1);
  const removal = await owner.send('DELETE', `/api/organizations/${organizationId}/members/${leaver.id}`, {});
  expect(removal.status).toBe(200);
  await slow.query('commit');
  await slow.end();
  expect((await late).status).toBe(404);
});
