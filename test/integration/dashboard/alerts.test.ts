import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AlertsView, WebhookSecretView } from '#contract/alerts.ts';
import type { LinkView } from '#contract/people.ts';
import { createLog } from '#core/log/log.ts';
import { NANO_PER_USD } from '#core/money.ts';
import { sendAlerts } from '#dashboard/server/alerts/send-alerts.ts';
import type { Background } from '#dashboard/server/background/repeat.ts';
import { reportFailedTopUp } from '#database/alerts/organization-messages.ts';
import { inTransaction } from '#database/connection/connection-pool.ts';
import { BY, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { type MailServer, startMailServer, startWebhookReceiver, type WebhookReceiver } from './alert-receivers.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const SOON = { timeout: 30_000, interval: 100 };
const DIFFERENCE = { model: 'cheap-model', field: 'usd_per_million_tokens.input', configured: 1, catalogue: 2 };
const compareWithCatalogue = () => ({ asOf: '2026-11-01', differences: [DIFFERENCE], disputed: [] });
const REPORT = { waitingCharges: { count: 3 }, providers: { acme: { lastFailure: { account: 'funds' } }, fine: {} } };
const usd = (dollars: number) => (BigInt(dollars) * NANO_PER_USD).toString();

describe('alerts', () => {
  const dashboard = opened(() => startDashboard({}, 'gateway_dashboard'));
  let mail: MailServer;
  let hook: WebhookReceiver;
  let configure: () => void;
  const backgrounds: Background[] = [];
  beforeAll(async () => {
    [mail, hook] = await Promise.all([startMailServer(), startWebhookReceiver()]);
    const server = { host: '127.0.0.1', port: mail.port, tls: false };
    const from = 'Gateway <noreply@gateway.example>';
    configure = () =>
      dashboard.configure({
        mail: { server, from, operators: ['operator@gateway.example'] },
        privateNetworks: ['127.0.0.0/8'],
      });
    configure();
    // Three dashboard processes of one deployment.
    const log = createLog('silent');
    for (let n = 0; n < 3; n++)
      backgrounds.push(
        sendAlerts(dashboard.database, { settings: () => dashboard.settings, compareWithCatalogue }, log),
      );
  });
  afterAll(async () => {
    await Promise.all(backgrounds.map((one) => one.close()));
    await Promise.all([mail.close(), hook.close()]);
  });
  afterEach(() => {
    mail.refuse(undefined);
    hook.answer(204);
  });

  const mailsTo = (address: string) => mail.mails.filter(({ to }) => to.includes(address));
  const pass = () => sql(dashboard.databaseUrl, 'update outbox set next_attempt_at = now() where finished_at is null');

  async function organization() {
    const id = await dashboard.addOrganization();
    const owner = await dashboard.signedIn(await dashboard.addUser({ in: [id, 'owner'] }));
    const path = `/api/organizations/${id}`;
    const alerts = async () => (await owner.get<AlertsView>(`${path}/alerts`)).body;
    return { id, owner, path, alerts, credit: (dollars: number) => credit(id, dollars) };
  }

  async function credit(id: string, dollars: number) {
    await dashboard.administration.credit(id, { amountNanoUsd: BigInt(dollars) * NANO_PER_USD }, BY);
  }

  const settings = (more: object) => ({ keyBudgets: false, keyExpiry: false, topUps: false, emails: [], ...more });
  const save = (owner: Browser, path: string, more: object) =>
    owner.send<WebhookSecretView>('PATCH', `${path}/alerts`, settings(more));

  it('of a low balance are sent once for each crossing, by mail and by a signed webhook', async () => {
    const { owner, path, alerts, credit } = await organization();
    await credit(8);
    const webhookUrl = `http://127.0.0.1:${hook.port}/low`;
    const input = { balanceBelowNanoUsd: usd(10), emails: ['low@customer.example'], webhookUrl };
    const { status, body } = await save(owner, path, input);
    expect(status).toBe(200);
    await expect.poll(() => mailsTo('low@customer.example').length, SOON).toBe(1);
    await expect.poll(() => hook.requests.length, SOON).toBe(1);
    expect(mailsTo('low@customer.example')[0]).toMatchObject({
      from: 'noreply@gateway.example',
      text: 'The balance is $8.00. Requests that cost more are refused. Owners add credit on the credits page.\n',
    });
    const [request] = hook.requests;
    const signed = new Webhook(body.secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
    expect(signed).toMatchObject({ type: 'balance.low', data: { balance_usd: 8, threshold_usd: 10 } });
    await credit(5);
    await expect
      .poll(() => sql(dashboard.databaseUrl, "select from alert_states where kind = 'balance.low'"), SOON)
      .toEqual([]);
    await credit(-6);
    await expect.poll(() => mailsTo('low@customer.example').length, SOON).toBe(2);
    await expect
      .poll(async () => (await alerts()).deliveries.map(({ state }) => state), SOON)
      .toEqual(Array.from({ length: 4 }, () => 'delivered'));
    expect(JSON.stringify(await alerts())).not.toContain('whsec_');
  });

  it('of budgets, of expiring keys and of failed top-ups are sent to those who asked for them', async () => {
    const { id, owner, path } = await organization();
    const soon = new Date(Date.now() + 86_400_000);
    const key = { name: 'backend', scopes: ['chat'], dailyBudgetNanoUsd: usd(10), expiresAtMs: soon.getTime() };
    const made = await owner.send<{ key: { id: string } }>('POST', `${path}/keys`, key);
    expect(made.status).toBe(200);
    const spend = (dollars: number) =>
      sql(
        dashboard.databaseUrl,
        `insert into key_daily_spend values ('${made.body.key.id}', (now() at time zone 'UTC')::date, ${usd(dollars)})
         on conflict (key_id, day) do update set spent_nano_usd = excluded.spent_nano_usd`,
      );
    await save(owner, path, { keyBudgets: true, keyExpiry: true, topUps: true, emails: ['keys@customer.example'] });
    const texts = () => mailsTo('keys@customer.example').map(({ text }) => text);
    await expect.poll(() => texts().length, SOON).toBe(1);
    expect(texts()[0]).toMatch(/expires on \d+ \w+ \d{4}, \d\d:\d\d UTC\./);
    await spend(8);
    await expect.poll(() => texts().length, SOON).toBe(2);
    expect(texts()[1]).toContain('has spent $8.00 of $10.00');
    await spend(10);
    await expect.poll(() => texts().length, SOON).toBe(3);
    await inTransaction(dashboard.database, 'begin', (client) =>
      reportFailedTopUp(client, id, { amountNanoUsd: 5n * NANO_PER_USD, automatic: true }),
    );
    await expect.poll(() => texts().length, SOON).toBe(4);
    expect(texts()[3]).toContain('An automatic top-up of $5.00 failed');
  });

  it('are sent again after a failure, in order, and each attempt is listed', async () => {
    const { owner, path, alerts } = await organization();
    const webhookUrl = `http://localhost:${hook.port}/again`;
    await save(owner, path, { emails: ['again@customer.example'], webhookUrl });
    mail.refuse(451);
    hook.answer(302, { location: `http://127.0.0.1:${hook.port}/elsewhere` });
    const before = hook.requests.length;
    expect(await owner.send('POST', `${path}/alerts/test`, {})).toMatchObject({ status: 200, body: { messages: 2 } });
    expect(await owner.send('POST', `${path}/alerts/test`, {})).toMatchObject({ body: { messages: 0 } });
    const results = async () =>
      (await alerts()).deliveries.map(({ channel, attempts }) => [channel, ...attempts.map(({ result }) => result)]);
    await expect.poll(results, SOON).toEqual([
      ['webhook', 'status 302, redirects are not followed'],
      ['mail', 'the mail server refused the address (451)'],
    ]);
    expect(hook.requests.length).toBe(before + 1);
    mail.refuse(undefined);
    hook.answer(200);
    await pass();
    await expect.poll(results, SOON).toEqual([
      ['webhook', 'status 302, redirects are not followed', 'status 200'],
      ['mail', 'the mail server refused the address (451)', 'accepted by the mail server'],
    ]);
    expect(new Set(hook.requests.slice(before).map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('are sent to Slack with escaped names, and to no webhook of another kind', async () => {
    const { id, owner, path, alerts } = await organization();
    await dashboard.administration.updateOrganization(id, { name: '<!channel> & Söhne' }, BY);
    const webhookUrl = `http://127.0.0.1:${hook.port}/services/T0/B0/path-sentinel`;
    const before = hook.requests.length;
    const saved = await save(owner, path, { webhookUrl, webhookKind: 'slack' });
    expect([saved.status, saved.body]).toEqual([200, { settings: expect.anything() }]);
    await owner.send('POST', `${path}/alerts/test`, {});
    await expect.poll(() => hook.requests.length, SOON).toBe(before + 1);
    const request = hook.requests.at(-1);
    expect(JSON.parse(request?.body ?? '')).toEqual({
      text: 'Test of alerts (&lt;!channel&gt; &amp; Söhne)\nThis is a test. Alerts of your organization arrive here.',
    });
    expect(request?.headers['webhook-signature']).toMatch(/^v1,/);
    await expect.poll(async () => (await alerts()).deliveries[0]?.state, SOON).toBe('delivered');
    const [delivery] = (await alerts()).deliveries;
    expect(delivery).toMatchObject({ channel: 'slack', body: request?.body });
    expect(JSON.stringify(delivery)).not.toContain('path-sentinel');
    const audit = await sql(dashboard.databaseUrl, `select changes from audit_log where organization_id = '${id}'`);
    expect(JSON.stringify(audit)).not.toContain('path-sentinel');
    // A message that waits for Slack is not sent to a webhook of another kind.
    hook.answer(500);
    await sql(
      dashboard.databaseUrl,
      `update outbox set created_at = created_at - interval '1 hour' where organization_id = '${id}'`,
    );
    await owner.send('POST', `${path}/alerts/test`, {});
    await expect.poll(async () => (await alerts()).deliveries[0]?.attempts[0]?.result, SOON).toBe('status 500');
    const other = await save(owner, path, { webhookUrl, webhookKind: 'webhook' });
    expect(other.body.secret).toMatch(/^whsec_/);
    await pass();
    await expect.poll(async () => (await alerts()).deliveries[0]?.state, SOON).toBe('dropped');
    expect(hook.requests).toHaveLength(before + 2);
    for (const url of ['https://127.0.0.2/x', 'https://10.0.0.1/x', 'http://hooks.slack.com/x']) {
      dashboard.configure({ privateNetworks: [] });
      expect((await save(owner, path, { webhookUrl: url, webhookKind: 'slack' })).status, url).toBe(400);
    }
    configure();
  });

  it('are sent again on request with the same id, one at a time, and only to present receivers', async () => {
    const { owner, path, alerts } = await organization();
    const webhookUrl = `http://127.0.0.1:${hook.port}/once-more`;
    await save(owner, path, { webhookUrl, emails: ['twice@customer.example'] });
    await owner.send('POST', `${path}/alerts/test`, {});
    const states = async () => (await alerts()).deliveries.map(({ state }) => state);
    await expect.poll(states, SOON).toEqual(['delivered', 'delivered']);
    const [webhook, byMail] = (await alerts()).deliveries;
    const sent = hook.requests.at(-1);
    expect(webhook?.body).toBe(sent?.body);
    expect(byMail?.body).toBe('This is a test. Alerts of your organization arrive here.\n');
    const again = (messageId: string | undefined, by = owner, at = path) =>
      by.send('POST', `${at}/alerts/again`, { messageId });
    const before = hook.requests.length;
    hook.answer(500);
    expect((await again(webhook?.messageId)).status).toBe(200);
    await expect.poll(() => hook.requests.length, SOON).toBe(before + 1);
    expect((await again(webhook?.messageId)).status).toBe(409);
    hook.answer(204);
    await pass();
    await expect.poll(states, SOON).toEqual(['delivered', 'delivered']);
    expect(hook.requests.at(-1)?.headers['webhook-id']).toBe(sent?.headers['webhook-id']);
    expect(hook.requests.at(-1)?.body).toBe(sent?.body);
    const stranger = await organization();
    expect((await again(webhook?.messageId, stranger.owner, stranger.path)).status).toBe(409);
    await save(owner, path, { emails: [], webhookUrl: null });
    expect((await again(webhook?.messageId)).status).toBe(409);
    expect((await again(byMail?.messageId)).status).toBe(409);
    expect(mailsTo('twice@customer.example')).toHaveLength(1);
  });

  it('include links for invitations and new passwords, whose tokens are in no table', async () => {
    const { owner, path } = await organization();
    const email = 'invited@customer.example';
    const invited = await owner.send<{ link: LinkView }>('POST', `${path}/members`, { email, role: 'member' });
    expect(invited.body.link).toEqual({ expiresAtMs: expect.any(Number) });
    await expect.poll(() => mailsTo(email).length, SOON).toBe(1);
    const tokenIn = (text = '') => /\/link#([\w-]{43})\n/.exec(text)?.[1] ?? '';
    const token = tokenIn(mailsTo(email)[0]?.text);
    expect(token).toHaveLength(43);
    const [row] = await sql(
      dashboard.databaseUrl,
      `select jsonb_agg(o) as all from outbox o where receiver = '${email}'`,
    );
    expect(JSON.stringify(row)).not.toContain(token);
    const unfinished = `select from outbox where receiver = '${email}' and finished_at is null`;
    await expect.poll(() => sql(dashboard.databaseUrl, unfinished), SOON).toEqual([]);
    // Simulates a dashboard that ended after it sent the mail and before it stored that.
    await sql(
      dashboard.databaseUrl,
      `update outbox set finished_at = null, outcome = null, next_attempt_at = now() where receiver = '${email}'`,
    );
    await expect.poll(() => mailsTo(email).length, SOON).toBe(2);
    const use = (text?: string) => {
      const sent = { token: tokenIn(text), password: 'correct horse battery staple' };
      return dashboard.browser().send('POST', '/api/password-links/use', sent);
    };
    expect((await use(mailsTo(email)[0]?.text)).status).toBe(410);
    expect((await use(mailsTo(email)[1]?.text)).status).toBe(200);
    const members = await owner.get<{ members: { email: string; userId: string; invited: boolean }[] }>(
      `${path}/members`,
    );
    const member = members.body.members.find((one) => one.email === email);
    expect(member?.invited).toBe(false);
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    const reset = await operator.send<LinkView>('POST', `/api/users/${member?.userId}/reset`);
    expect(reset.body).toEqual({ expiresAtMs: expect.any(Number) });
    await expect.poll(() => mailsTo(email)[2]?.text, SOON).toContain(`${dashboard.origin}/link#`);
    expect((await use(mailsTo(email)[2]?.text)).status).toBe(200);
  });

  it('for operators are mailed to the addresses of the configuration', async () => {
    await sql(
      dashboard.databaseUrl,
      `insert into losses (generation_id, organization_id, reason, amount_nano_usd, model, provider)
         values ('gen-1', 'org-1', 'crash', 2000000000, 'm', 'p');
       insert into gateway_processes (id, host, worker, pid, started_at, reported_at, report, configuration, configuration_loaded_at)
         values (gen_random_uuid(), 'h', 0, 1, now(), now() + interval '1 hour', '${JSON.stringify(REPORT)}', '{}', now());
       insert into dead_letters (generation_id, organization_id, reason, settlement, delivered) values ('gen-2', 'org-1', 'r', '{}', true)`,
    );
    const texts = () => mailsTo('operator@gateway.example').map(({ text }) => text);
    await expect
      .poll(texts, SOON)
      .toEqual(
        expect.arrayContaining([
          '1 loss of $2.00 in the last hour. `ledger losses` lists them.\n',
          '3 charges have waited for PostgreSQL for more than 5 s. `doctor` says where.\n',
          '1 difference, in cheap-model. `models check` and the page "Model mapping" show them.\n',
          expect.stringMatching(/^acme refused a request because of your account's money or quota/),
          'The ledger has refused 1 charge. `ledger dead-letters list` shows them.\n',
        ]),
      );
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    const { body } = await operator.get<{ receivers: string[] }>('/api/alerts');
    expect(body.receivers).toEqual(['operator@gateway.example']);
    const test = () => operator.send<{ messages: number }>('POST', '/api/alerts/test').then((sent) => sent.body);
    const both = await Promise.all([test(), test()]);
    expect(both.map(({ messages }) => messages).sort()).toEqual([0, 1]);
    await expect.poll(texts, SOON).toContain('This is a test. Alerts for operators arrive here.\n');
  });
});
