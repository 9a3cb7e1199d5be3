import { beforeAll, describe, expect, it } from 'vitest';
import type { AlertsView, WebhookSecretView } from '#contract/alerts.ts';
import type { OrganizationView, OwnSettings } from '#contract/organization.ts';
import { NANO_PER_USD } from '#core/money.ts';
import { openPaymentAccount, saveCard, setAutomaticTopUp } from '#database/payments/payment-accounts.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const BILLING = {
  legalName: 'Acme Handels GmbH',
  billingAddress: 'Hauptstraße 1, 10115 Berlin, Germany',
  taxId: 'DE123456789',
  billingEmail: 'invoices@acme.example',
};

describe('the settings of an organization for its owners', () => {
  const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
  let owner: Browser;
  let email: string;
  let id: string;
  let path: string;

  beforeAll(async () => {
    id = await dashboard.addOrganization('Acme', { requestsPerMinute: 60 });
    path = `/api/organizations/${id}`;
    const user = await dashboard.addUser({ in: [id, 'owner'] });
    ({ email } = user);
    owner = await dashboard.signedIn(user);
  });

  const change = (body: object) => owner.send<OwnSettings>('PATCH', `${path}/settings`, body);
  const view = async (by = owner) => (await by.get<OrganizationView>(path)).body;

  it('have a name and billing data that owners change, with an audit event', async () => {
    expect((await owner.get(`${path}/settings`)).body).toEqual({ name: 'Acme' });
    expect(await change({ name: 'Acme Europe', ...BILLING })).toMatchObject({
      status: 200,
      body: { name: 'Acme Europe', ...BILLING },
    });
    expect((await change({ taxId: null })).body).toEqual({ ...present(BILLING), name: 'Acme Europe' });
    const events = await sql(
      dashboard.databaseUrl,
      `select actor, changes from audit_log where organization_id = '${id}' and action = 'organization.updated' order by id`,
    );
    expect(events).toMatchObject([
      { actor: email, changes: { name: ['Acme', 'Acme Europe'], legalName: [null, BILLING.legalName] } },
      { actor: email, changes: { taxId: [BILLING.taxId, null] } },
    ]);
    expect((await view()).limits.requestsPerMinute).toBe(60);
  });

  it('include alerts, whose other values a change keeps', async () => {
    const webhookUrl = 'https://example.com/kept';
    const changeAlerts = async (input: object) => {
      const { body } = await owner.send<Partial<WebhookSecretView>>('PATCH', `${path}/alerts`, input);
      expect(body).toMatchObject({ settings: (await owner.get<AlertsView>(`${path}/alerts`)).body.settings });
      return body;
    };
    expect(await changeAlerts({ balanceBelowNanoUsd: '99', webhookUrl })).toHaveProperty('secret');
    const kept = { keyBudgets: true, keyExpiry: false, topUps: true, emails: [] };
    const webhook = { webhookUrl, webhookKind: 'webhook' };
    expect(await changeAlerts({ keyExpiry: false })).toEqual({
      settings: { ...kept, ...webhook, balanceBelowNanoUsd: '99' },
    });
    expect(await changeAlerts({ balanceBelowNanoUsd: null, webhookUrl: null })).toEqual({ settings: kept });
  });

  it('have limits, prices and money that owners can read but not change', async () => {
    const before = await view();
    for (const field of [
      ...['requestsPerMinute', 'tokensPerMinute', 'concurrency', 'maxTokens'].map((name) => ({ [name]: 1_000_000 })),
      ...['dailyBudgetNanoUsd', 'balanceNanoUsd', 'creditNanoUsd'].map((name) => ({ [name]: '1000' })),
      ...[{ priceList: 'partner' }, { allowMultipleCompletions: true }, { suspendedAtMs: null }, { id: 'org-1' }],
    ])
      expect((await change({ name: 'Renamed', ...field })).status, JSON.stringify(field)).toBe(400);
    expect(await view()).toEqual(before);
  });

  it('refuse billing data that is too long or has hidden characters, and an invalid address', async () => {
    for (const [field, value] of [
      ['legalName', 'x'.repeat(141)],
      ['taxId', '\u202edrow'],
      ['billingAddress', ''],
      ['billingEmail', 'nobody'],
    ] as const)
      expect((await change({ [field]: value })).body.fields, field).toHaveProperty(field);
  });

  it('show billing data to owners and operators, but not to members', async () => {
    const member = await dashboard.signedIn(await dashboard.addUser({ in: [id, 'member'] }));
    expect((await member.get(`${path}/settings`)).status).toBe(403);
    expect(JSON.stringify(await view(member))).not.toContain(BILLING.legalName);
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    expect((await operator.get<OwnSettings>(`${path}/settings`)).body.legalName).toBe(BILLING.legalName);
    const renamed = { name: 'Acme', requestsPerMinute: 61 };
    expect((await operator.send('PATCH', path, renamed)).status).toBe(200);
    expect((await owner.get<OwnSettings>(`${path}/settings`)).body).toMatchObject({ legalName: BILLING.legalName });
  });

  it('forecast the end of the balance, unless a card is charged in time', async () => {
    const poor = await dashboard.addOrganization('Poor');
    const spender = await dashboard.signedIn(await dashboard.addUser({ in: [poor, 'owner'] }));
    const forecast = async () => (await spender.get<OrganizationView>(`/api/organizations/${poor}`)).body.forecast;
    await dashboard.administration.credit(poor, { amountNanoUsd: 20n * NANO_PER_USD }, BY);
    expect(await forecast()).toBeUndefined();
    await sql(
      dashboard.databaseUrl,
      `insert into organization_daily_spend (organization_id, day, spent_nano_usd)
       values ('${poor}', (now() at time zone 'UTC')::date, ${5n * NANO_PER_USD})`,
    );
    const found = await forecast();
    expect(found?.averageDayNanoUsd).toBe(String(5n * NANO_PER_USD));
    expect(Math.abs((found?.endsAtMs ?? 0) - Date.now() - 4 * 86_400_000)).toBeLessThan(60_000);
    await openPaymentAccount(dashboard.database, poor, 'cus_1');
    const card = { customerId: 'cus_1', paymentMethodId: 'pm_1', card: 'visa 4242', savedAtMs: Date.now() };
    await saveCard(dashboard.database, card);
    const settings = { belowNanoUsd: NANO_PER_USD, amountCents: 1_000n, dailyCents: 1_000n };
    expect(await setAutomaticTopUp(dashboard.database, poor, settings, BY)).toBe(true);
    expect(await forecast()).toBeUndefined();
  });

  it('keep the receivers of alerts of two owners who save at the same time', async () => {
    const shared = await dashboard.addOrganization();
    const someone = await dashboard.signedIn(await dashboard.addUser({ in: [shared, 'owner'] }));
    const alerts = `/api/organizations/${shared}/alerts`;
    const patch = (emails: readonly string[], emailsBefore: readonly string[]) =>
      someone.send<{ fields: object }>('PATCH', alerts, { emails, emailsBefore });
    const saved = async () => (await someone.get<AlertsView>(alerts)).body.settings.emails;
    const at = (name: string) => `${name}@customer.example`;
    await patch([at('old')], []);
    await patch([at('old'), at('first')], [at('old')]);
    await patch([at('second')], [at('old')]);
    expect(await saved()).toEqual([at('first'), at('second')]);
    const refused = await patch(['a', 'b', 'c', 'd', 'e'].map(at), []);
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([400, ['emails']]);
    expect(await saved()).toEqual([at('first'), at('second')]);
  });
});

function present({ taxId: _, ...others }: typeof BILLING) {
  return others;
}
