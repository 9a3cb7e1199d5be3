import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient } from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import {
  type MailServer,
  startMailServer,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../integration/dashboard/alert-receivers.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { plainAnswer, streamAnswer } from '../provider/acts.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { copyWith } from './clipboard.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks, shifts, watchShifts } from './looks.ts';

const OWNER = 'owner@acme.example';
const COLLEAGUE = 'ben@acme.example';
const SOON = { timeout: 30_000, interval: 200 };
/** Clicks from the home page. */
const MOST_CLICKS = 5;
/** An address that belongs to nobody in the organization. */
const STRANGER = '203.0.113.66';

/**
 * The most frequent tasks, each within five clicks from the home page. Opening a menu or a list is
 * one click, a choice from it another. Typing is none.
 */
requirement(NO_CHROMIUM, () => {
  let mail: MailServer;
  let hook: WebhookReceiver;
  let stripe: ScriptedStripe;
  let stack: DashboardStack;
  let organizationId: string;
  let key: string;
  let owner: WatchedPage;
  let clicks = 0;

  beforeAll(async () => {
    [mail, hook, stripe] = await Promise.all([startMailServer(), startWebhookReceiver(), startScriptedStripe()]);
    const { secretKey, webhookSecret, apiBase } = stripe.config;
    const models = {
      small: { usd_per_million_tokens: { input: 100, output: 200 } },
      large: { usd_per_million_tokens: { input: 300, output: 600 } },
    };
    stack = await startDashboardStack(inject('postgresSocketDir'), models, [], {
      mail: { smtp_url: `smtp://127.0.0.1:${mail.port}`, from: 'noreply@gateway.example' },
      webhooks: { private_networks: ['127.0.0.0/8'] },
      payments: { stripe: { secret_key: secretKey, webhook_secret: webhookSecret, api_base: apiBase.origin } },
    });
    stripe.deliverTo = stack.dashboardOrigin;
    ({ organizationId, key } = await stack.operator.customer({
      credit: '100',
      organization: { name: 'Acme' },
      key: { name: 'Backend' },
    }));
    await fillHistory(stack, organizationId);
    await stack.createUser(COLLEAGUE, { organizationId, role: 'member' });
    const password = await stack.createUser(OWNER, { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await watchShifts(owner.page);
    await signIn(owner.page, OWNER, password);
  });

  afterAll(async () => {
    await stack?.close();
    await Promise.all([mail?.close(), hook?.close(), stripe?.close()]);
  });

  showLogsOnFailure(() => stack);

  function task(name: string, expected: number, act: (page: Page) => Promise<void>): void {
    test(`${name}: ${expected} clicks`, async () => {
      const { page, complaints } = owner;
      await page.goto('/');
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      await page.getByRole('table', { name: 'Groups' }).getByRole('cell').getByRole('button').first().waitFor();
      clicks = 0;
      await act(page);
      expect(clicks).toBe(expected);
      expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
      expect(complaints()).toEqual([]);
    });
  }

  async function click(target: Locator): Promise<void> {
    clicks++;
    await target.click();
  }

  async function choose(list: Locator, value: string): Promise<void> {
    clicks += 2;
    await list.selectOption(value);
  }

  async function openView(page: Page, name: string): Promise<void> {
    await click(page.getByRole('button', { name: 'Views' }));
    await click(page.getByRole('menuitem', { name }));
  }

  const goTo = (page: Page, name: string) =>
    click(page.getByRole('navigation').getByRole('link', { name, exact: true }));
  const groups = (page: Page) => page.getByRole('table', { name: 'Groups' });
  const log = (page: Page) => page.getByRole('table', { name: 'Requests, newest first' });

  task('see what each end user spent yesterday', 2, async (page) => {
    await openView(page, 'Spend by end user, yesterday');
    const dearest = await sql<{ user: string; usd: string }>(
      stack.databaseUrl,
      `select end_user as user, round(sum(cost_nano_usd) / 1e9, 3)::text as usd from request_log
       where end_user is not null and cost_nano_usd is not null and id < id_floor('log', date_trunc('day', now(), 'UTC'))
         and id >= id_floor('log', date_trunc('day', now(), 'UTC') - interval '1 day')
       group by 1 order by sum(cost_nano_usd) desc limit 1`,
    );
    const user = dearest[0]?.user ?? 'nobody';
    const row = groups(page).getByRole('row').filter({ hasText: user }).first();
    await row.waitFor();
    const [, shown = ''] = /\$([\d.]+)/.exec(await row.innerText()) ?? [];
    expect(Number(shown)).toBeCloseTo(Number(dearest[0]?.usd), 2);
    await expectGoodLooks(page, 'task-users');
  });

  task('see when errors began, and their code', 3, async (page) => {
    const errorsAt = async () =>
      (await page.getByRole('figure').getByRole('status').innerText()).replace(/^.*?\d: /, '');
    await openView(page, 'Errors by code');
    const chart = page.getByRole('application', { name: /^Errors by code/ });
    // The chart already has its new name, but shows the former data until the errors are loaded.
    await groups(page).getByRole('button', { name: 'rpm_exceeded' }).waitFor();
    await chart.focus();
    await page.keyboard.press('Home');
    // The keyboard announces the steps. It counts as a click, which would select the same.
    while (!/[1-9]/.test(await errorsAt())) await page.keyboard.press('ArrowRight');
    const [, code = ''] = /(\w+) [1-9]/.exec(await errorsAt()) ?? [];
    clicks++;
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    const rows = log(page).getByRole('row');
    await rows.filter({ hasText: code }).first().waitFor();
    expect(await rows.filter({ hasText: /^\S+\s+200\s/ }).count()).toBe(0);
    await expectGoodLooks(page, 'task-errors');
  });

  task('find a leaked key by its curve and the addresses that use it', 4, async (page) => {
    await choose(page.getByLabel('Group by'), 'key');
    await click(groups(page).getByRole('button', { name: 'Leaked' }));
    await page.getByText('Key: Leaked').waitFor();
    await click(page.getByRole('link', { name: 'Show requests' }));
    await log(page).getByRole('row').filter({ hasText: 'Leaked' }).filter({ hasText: STRANGER }).first().waitFor();
  });

  task('revoke that key', 4, async (page) => {
    await goTo(page, 'API keys');
    const row = page.getByRole('row').filter({ hasText: STRANGER });
    expect(await row.innerText()).toContain('Leaked');
    await click(row.getByRole('button', { name: 'Actions for Leaked' }));
    await click(page.getByRole('menuitem', { name: 'Revoke' }));
    await click(page.getByRole('button', { name: 'Revoke key' }));
    await page.getByText('Key “Leaked” revoked.').waitFor();
    await row.waitFor({ state: 'detached' });
    const revoked = await sql(stack.databaseUrl, 'select name from keys where revoked_at <= now()');
    expect(revoked).toEqual([{ name: 'Leaked' }]);
  });

  task('create a key for a colleague with 5 USD a month', 5, async (page) => {
    await goTo(page, 'API keys');
    await click(page.getByRole('button', { name: 'Create key' }));
    const form = page.getByRole('dialog', { name: 'Create an API key' });
    await form.getByLabel('Name').fill('Ben');
    await click(form.locator('summary', { hasText: 'Limits' }));
    await form.getByLabel('Monthly budget').fill('5');
    await click(form.getByRole('button', { name: 'Create key' }));
    const shown = page.getByRole('dialog', { name: /Your new key/ });
    clicks++;
    expect(await copyWith(shown.getByRole('button', { name: 'Copy key' }))).toMatch(/^sk-gw-[\w-]{43}$/);
    const made = "select monthly_budget_nano_usd::text as usd from keys where name = 'Ben'";
    expect(await sql(stack.databaseUrl, made)).toEqual([{ usd: '5000000000' }]);
  });

  task('see when the balance ends', 0, async (page) => {
    // A balance of 100 USD lasts 25 days at 4 USD a day.
    const day = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'Europe/Berlin' });
    await page.getByText(`lasts until ${day.format(Date.now() + 25 * DAY_MS)} at $4.00 a day`).waitFor();
  });

  task('set up alerts in Slack', 5, async (page) => {
    await goTo(page, 'Alerts');
    await page.getByLabel('Balance below').fill('20');
    await page.getByLabel('Webhook URL').fill(`http://127.0.0.1:${hook.port}/services/T0/B0/x`);
    await choose(page.getByLabel('Message format'), 'slack');
    await click(page.getByRole('button', { name: 'Save' }));
    await page.getByText('Saved').first().waitFor();
    await click(page.getByRole('button', { name: 'Send a test' }));
    await expect.poll(() => hook.requests.length, SOON).toBe(1);
    expect(JSON.parse(hook.requests[0]?.body ?? '')).toEqual({
      text: expect.stringContaining('Alerts of your organization arrive here'),
    });
    await page.getByRole('cell', { name: 'Delivered' }).waitFor();
    await page.getByRole('cell', { name: 'Slack' }).click();
    const drawer = page.getByRole('dialog', { name: 'Test' });
    await drawer.getByText(/Alerts of your organization arrive here/).waitFor();
    await expectGoodLooks(page, 'delivery');
    await drawer.getByRole('button', { name: 'Send again' }).click();
    await expect.poll(() => hook.requests.length, SOON).toBe(2);
    expect(hook.requests[1]?.body).toBe(hook.requests[0]?.body);
  });

  task('get an invoice with a tax id', 5, async (page) => {
    await goTo(page, 'Credits');
    await click(page.getByRole('button', { name: 'Add credit' }));
    await click(page.getByRole('button', { name: 'Continue to payment' }));
    await page.getByLabel('Tax ID').fill('DE123456789');
    await click(page.getByRole('button', { name: 'Pay' }));
    await page.getByText('was added to the balance').waitFor();
    await page.route('https://invoice.stripe.com/**', (route) => {
      const { invoice } =
        [...stripe.world.sessions.values()].find((one) => one.invoice?.hosted_invoice_url === route.request().url()) ??
        {};
      return route.fulfill({ body: `Invoice of ${invoice?.customer_tax_ids[0]?.value}` });
    });
    await click(page.getByRole('button', { name: 'Invoice' }));
    await page.getByText('Invoice of DE123456789').waitFor();
    // Nothing shifts while the credits page loads.
    await page.goto(`/o/${organizationId}/credits`);
    await page.getByRole('button', { name: 'Invoice' }).waitFor();
    await page.getByRole('columnheader', { name: 'Balance after' }).waitFor();
    expect(await shifts(page)).toEqual([]);
  });

  test('reset a forgotten password: 4 clicks', async () => {
    const { page, complaints } = await openPage(stack);
    await page.goto('/');
    clicks = 0;
    await click(page.getByRole('link', { name: 'Forgot password?' }));
    await page.getByLabel('Email').fill(COLLEAGUE);
    await expectGoodLooks(page, 'forgotten-password');
    await click(page.getByRole('button', { name: 'Send link' }));
    await page.getByText(/a link to set a new one is on its way/).waitFor();
    await expect.poll(() => mail.mails.length, SOON).toBe(1);
    clicks++;
    await page.goto(/http\S+\/link#\S+/.exec(mail.mails[0]?.text ?? '')?.[0] ?? '');
    await page.getByRole('heading', { name: 'Set a new password', level: 1 }).waitFor();
    await page.getByLabel('New password', { exact: true }).fill('correct horse battery');
    await click(page.getByRole('button', { name: 'Set password and sign in' }));
    await page.waitForURL((url) => url.pathname.endsWith('/overview'));
    expect(clicks).toBe(4);
    await page.context().clearCookies();
    await signIn(page, COLLEAGUE, 'correct horse battery');
    expect(complaints()).toEqual([]);
  });

  task('try a prompt on two models', 3, async (page) => {
    await goTo(page, 'Playground');
    await page.getByLabel('Model', { exact: true }).waitFor();
    await choose(page.getByLabel('Compare with'), 'large');
    stack.provider.script('small', streamAnswer({ pieces: ['It is blue.'] }), plainAnswer);
    stack.provider.script('large', streamAnswer({ pieces: ['Azure, mostly.'] }));
    await page.getByLabel('Message', { exact: true }).fill('How is the sky?');
    await page.keyboard.press('Enter');
    const answer = (text: string) => page.getByRole('article').filter({ hasText: text });
    // Costs of 10 prompt tokens and 5 output tokens.
    await answer('It is blue.').getByText('$0.002').waitFor();
    await answer('Azure, mostly.').getByText('$0.006').waitFor();
  });

  task('connect an editor', 4, async (page) => {
    await goTo(page, 'Connect');
    const client = page.getByLabel('Client');
    await client.locator('option', { hasText: 'opencode' }).waitFor({ state: 'attached' });
    await choose(client, 'opencode');
    clicks++;
    const copied = await copyWith(page.getByRole('button', { name: 'Copy opencode example' }));
    expect(copied).toContain(`export GATEWAY_URL='${stack.origin}/v1'`);
    await page.getByText('Waiting for a request').waitFor();
    const editor = gatewayClient(stack.origin, key);
    expect((await editor.chat({ model: 'small', max_tokens: 10 })).status).toBe(200);
    editor.close();
    await page.getByText('Connected').waitFor();
  });
});

/** Inserts requests of yesterday and today with a leaked key, and 4 USD spent today. */
async function fillHistory({ databaseUrl, operator }: DashboardStack, organizationId: string): Promise<void> {
  const { keyId } = await operator.addKey(organizationId, { key: { name: 'Leaked' } });
  const filling = { organizationId, days: 1, models: ['small', 'large'] };
  const todayMs = Date.now() - (Date.now() % DAY_MS);
  await fillRequestLog(databaseUrl, { ...filling, rows: 600, endMs: todayMs });
  await fillRequestLog(databaseUrl, { ...filling, rows: 900, keyIds: [keyId], endMs: Date.now() });
  await sql(
    databaseUrl,
    `update request_log set address = '${STRANGER}' where key_id = '${keyId}';
     update key_activity set last_address = '${STRANGER}' where key_id = '${keyId}';
     insert into organization_daily_spend values ('${organizationId}', (now() at time zone 'UTC')::date, 4000000000)`,
  );
}
