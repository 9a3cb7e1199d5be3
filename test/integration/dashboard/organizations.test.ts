import { beforeAll, describe, expect, it } from 'vitest';
import type { OrganizationRow } from '#contract/operator.ts';
import type { OrganizationView } from '#contract/organization.ts';
import { MAX_AMOUNT_NANO_USD } from '#core/money.ts';
import { addKey, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const dashboard = opened(startDashboard);
let operator: Browser;
let operatorEmail: string;

beforeAll(async () => {
  const user = await dashboard.addUser({ operator: true });
  operatorEmail = user.email;
  operator = await dashboard.signedIn(user);
});

const create = (body: object) => operator.send<OrganizationView>('POST', '/api/organizations', body);
const edit = (id: string, body: object) => operator.send<OrganizationView>('PATCH', `/api/organizations/${id}`, body);
const credit = (id: string, body: object) =>
  operator.send<OrganizationView>('POST', `/api/organizations/${id}/credits`, body);
const auditOf = (id: string) =>
  sql(
    dashboard.databaseUrl,
    `select action, actor, address, changes from audit_log where organization_id = '${id}' order by id`,
  );

describe('an organization', () => {
  it('begins with the default limits, or with given ones', async () => {
    const plain = await create({ name: ' Plain ' });
    expect(plain.body).toMatchObject({ name: 'Plain', balanceNanoUsd: '0', totalCreditsNanoUsd: '0' });
    expect(plain.body.limits).toEqual({ concurrency: 64, allowMultipleCompletions: false });
    const limits = {
      ...{ requestsPerMinute: 10, tokensPerMinute: 20, dailyBudgetNanoUsd: '30', maxTokens: 40, concurrency: 50 },
      allowMultipleCompletions: true,
    };
    const { body } = await create({ name: 'Limited', ...limits, creditNanoUsd: '5000000000' });
    expect(body).toMatchObject({ limits, balanceNanoUsd: '5000000000', totalCreditsNanoUsd: '5000000000' });
    expect((await auditOf(body.id)).map(({ action, actor, address }) => [action, actor, address])).toEqual([
      ['organization.created', operatorEmail, '127.0.0.1'],
      ['organization.credited', operatorEmail, '127.0.0.1'],
    ]);
  });

  it('changes given fields, and loses limits that are null', async () => {
    const { id } = (await create({ name: 'Before', requestsPerMinute: 5, dailyBudgetNanoUsd: '7' })).body;
    const { body } = await edit(id, { name: 'After', requestsPerMinute: null, maxTokens: 9, concurrency: 2 });
    expect(body.name).toBe('After');
    expect(body.limits).toEqual({
      ...{ dailyBudgetNanoUsd: '7', maxTokens: 9, concurrency: 2 },
      allowMultipleCompletions: false,
    });
    expect((await edit(id, { dailyBudgetNanoUsd: null, maxTokens: null })).body.limits).toEqual({
      ...{ concurrency: 2, allowMultipleCompletions: false },
    });
    expect((await edit(id, { dailyBudgetNanoUsd: '0' })).body.limits.dailyBudgetNanoUsd).toBe('0');
    const before = (await auditOf(id)).length;
    expect((await edit(id, {})).status).toBe(200);
    expect(await auditOf(id)).toHaveLength(before);
  });

  it('has a price list of the configuration, or none', async () => {
    expect((await operator.get<object>('/api/price-lists')).body).toEqual({ priceLists: ['partner'] });
    const { id, priceList } = (await create({ name: 'Partner', priceList: 'partner' })).body;
    expect(priceList).toBe('partner');
    expect((await edit(id, { name: 'Renamed' })).body.priceList).toBe('partner');
    expect((await edit(id, { priceList: null })).body).not.toHaveProperty('priceList');
    expect((await edit(id, { priceList: 'partner' })).body.priceList).toBe('partner');
    const changes = (await auditOf(id)).map(({ changes }) => (changes as { priceList?: unknown }).priceList);
    expect(changes).toEqual([[null, 'partner'], undefined, ['partner', null], [null, 'partner']]);
  });

  it.each<[string, unknown]>([
    ['priceList', 'unknown'],
    ['priceList', 'none'],
    ['priceList', ''],
    ['name', ''],
    ['requestsPerMinute', 0],
    ['tokensPerMinute', 1e15],
    ['maxTokens', 1_000_000_001],
    ['concurrency', 0],
    ['concurrency', 1_000_001],
    ['dailyBudgetNanoUsd', '-1'],
    ['allowMultipleCompletions', 'yes'],
  ])('refuses a %s of %j', async (field, value) => {
    const organizationId = await dashboard.addOrganization('Kept');
    const replies = [await create({ name: 'New', [field]: value }), await edit(organizationId, { [field]: value })];
    for (const { status, body } of replies) {
      expect([status, Object.keys(body.fields ?? {})]).toEqual([400, [field]]);
    }
  });

  it('is suspended and resumed, with one audit event each', async () => {
    const id = await dashboard.addOrganization();
    const path = `/api/organizations/${id}/suspension`;
    const first = await operator.send<OrganizationView>('POST', path);
    expect(first.body.suspendedAtMs).toBeGreaterThan(0);
    expect((await operator.send<OrganizationView>('POST', path)).body).toEqual(first.body);
    expect((await operator.send<OrganizationView>('DELETE', path)).body).not.toHaveProperty('suspendedAtMs');
    expect((await auditOf(id)).map(({ action }) => action).slice(1)).toEqual([
      'organization.suspended',
      'organization.resumed',
    ]);
  });
});

describe('credit', () => {
  it('adds to the balance, with a note, and corrects it', async () => {
    const id = await dashboard.addOrganization();
    const { body } = await credit(id, { amountNanoUsd: '1000', note: 'Invoice 7' });
    expect(body).toMatchObject({ balanceNanoUsd: '1000', totalCreditsNanoUsd: '1000' });
    expect((await credit(id, { amountNanoUsd: '-1500' })).body.balanceNanoUsd).toBe('-500');
    const [, first] = await auditOf(id);
    expect(first).toMatchObject({ changes: { balanceNanoUsd: ['0', '1000'], note: [null, 'Invoice 7'] } });
  });

  it('is booked once for each reference, also if it is sent repeatedly or concurrently', async () => {
    const id = await dashboard.addOrganization();
    const body = { amountNanoUsd: '2500000000', reference: 'payment-1' };
    const replies = await Promise.all([1, 2, 3, 4].map(() => credit(id, body)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const repeated = await credit(id, { ...body, amountNanoUsd: '9' });
    expect(repeated.body.fields).toEqual({ reference: 'Already booked, with 2.5 USD. Nothing was added.' });
    const { body: view } = await operator.get<OrganizationView>(`/api/organizations/${id}`);
    expect(view.balanceNanoUsd).toBe('2500000000');
    const elsewhere = await credit(await dashboard.addOrganization(), body);
    const message = `Booked for the organization ${id}. Nothing was added.`;
    expect([elsewhere.status, elsewhere.body.fields]).toEqual([409, { reference: message }]);
    const opening = await create({ name: 'Again', creditNanoUsd: '1', reference: body.reference });
    expect([opening.status, opening.body.fields]).toEqual([409, { reference: message }]);
  });

  it.each<[field: string, body: object]>([
    ['amountNanoUsd', { amountNanoUsd: '0' }],
    ['amountNanoUsd', { amountNanoUsd: '-0' }],
    ['amountNanoUsd', { amountNanoUsd: String(MAX_AMOUNT_NANO_USD + 1n) }],
    ['amountNanoUsd', { amountNanoUsd: String(-MAX_AMOUNT_NANO_USD - 1n) }],
    ['amountNanoUsd', { amountNanoUsd: 5 }],
    ['amountNanoUsd', { amountNanoUsd: '1e3' }],
    ['amountNanoUsd', {}],
    ['note', { amountNanoUsd: '1', note: '' }],
    ['note', { amountNanoUsd: '1', note: 'x'.repeat(501) }],
    ['reference', { amountNanoUsd: '1', reference: 'x'.repeat(201) }],
  ])('refuses the %s of %j', async (field, body) => {
    const reply = await credit(await dashboard.addOrganization(), body);
    expect([reply.status, Object.keys(reply.body.fields ?? {})]).toEqual([400, [field]]);
  });

  it('never exceeds the range of amounts', async () => {
    const id = await dashboard.addOrganization();
    const replies: number[] = [];
    for (let i = 0; i < 10; i++)
      replies.push((await credit(id, { amountNanoUsd: String(MAX_AMOUNT_NANO_USD) })).status);
    expect(replies).toEqual([...Array<number>(9).fill(200), 400]);
  });
});

describe('the list of organizations', () => {
  const list = async (query = '') =>
    (await operator.get<{ organizations: OrganizationRow[]; next?: string }>(`/api/organizations?${query}`)).body;

  it('finds an organization by name, with its spend and number of usable keys', async () => {
    const id = await dashboard.addOrganization('Seen');
    const { keyId } = await addKey(dashboard, id);
    await addKey(dashboard, id);
    const gone = await addKey(dashboard, id);
    await sql(
      dashboard.databaseUrl,
      `update keys set expires_at = now() where id = '${keyId}';
       update keys set revoked_at = now() + interval '1 hour', revocation_decided_at = now() where id = '${gone.keyId}';
       insert into organization_daily_spend values ('${id}', '2027-01-15', 77), ('${id}', '2027-01-14', 1)`,
    );
    dashboard.setNow(Date.UTC(2027, 0, 15, 3));
    const { organizations } = await list('search=sEEn').finally(() => dashboard.setNow(undefined));
    expect(organizations).toEqual([
      {
        ...{ id, name: 'Seen', balanceNanoUsd: '0', spentTodayNanoUsd: '77', usableKeys: 2 },
        createdAtMs: expect.any(Number),
      },
    ]);
    expect((await list(`search=${id}`)).organizations).toHaveLength(1);
    expect((await list('search=%25')).organizations).toEqual([]);
  });

  it('is ordered newest first, in pages', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 51; i++) ids.push(await dashboard.addOrganization(`Paged ${i}`));
    const first = await list('search=paged');
    expect(first.organizations).toHaveLength(50);
    const second = await list(`search=paged&after=${first.next}`);
    expect(second).not.toHaveProperty('next');
    const shown = [...first.organizations, ...second.organizations].map(({ id }) => id);
    expect(shown).toEqual([...ids].sort().reverse());
    expect((await operator.get('/api/organizations?after=x')).status).toBe(400);
  });
});
