import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import {
  type MailServer,
  startMailServer,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../integration/dashboard/alert-receivers.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks, shifts, watchShifts } from './looks.ts';

/** An owner who needs nobody: a forgotten password, billing data, Slack, and an invoice. */
requirement(NO_CHROMIUM, () => {
  let mail: MailServer;
  let hook: WebhookReceiver;
  let stripe: ScriptedStripe;
  let stack: DashboardStack;
  let organizationId: string;
  let owner: WatchedPage;
  const OWNER = 'owner@acme.example';
  const SOON = { timeout: 30_000, interval: 200 };

  beforeAll(async () => {
    [mail, hook, stripe] = await Promise.all([startMailServer(), startWebhookReceiver(), startScriptedStripe()]);
    const { secretKey, webhookSecret, apiBase } = stripe.config;
    stack = await startDashboardStack(inject('postgresSocketDir'), { small: {} }, [], {
      mail: { smtp_url: `smtp://127.0.0.1:${mail.port}`, from: 'noreply@gateway.example' },
      webhooks: { private_networks: ['127.0.0.0/8'] },
      payments: { stripe: { secret_key: secretKey, webhook_secret: webhookSecret, api_base: apiBase.origin } },
    });
    stripe.deliverTo = stack.dashboardOrigin;
    ({ organizationId } = await stack.operator.customer({ organization: { name: 'Acme' } }));
    await stack.createUser(OWNER, { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await watchShifts(owner.page);
  });

  afterAll(async () => {
    await stack?.close();
    await Promise.all([mail?.close(), hook?.close(), stripe?.close()]);
  });

  showLogsOnFailure(() => stack);

  test('sets a forgotten password by mail', async () => {
    const { page } = owner;
    await page.goto('/sign-in');
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByLabel('Email').fill(OWNER);
    await expectGoodLooks(page, 'forgotten-password');
    await page.getByRole('button', { name: 'Send link' }).click();
    await page.getByText(/a link to set a new one is on its way/).waitFor();
    await expect.poll(() => mail.mails.length, SOON).toBe(1);
    await page.goto(/http\S+\/link#\S+/.exec(mail.mails[0]?.text ?? '')?.[0] ?? '');
    await page.getByRole('heading', { name: 'Set a new password', level: 1 }).waitFor();
    await page.getByLabel('New password', { exact: true }).fill('correct horse battery');
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.waitForURL((url) => url.pathname.endsWith('/overview'));
  });

  test('sets billing data, and sees the limits in force', async () => {
    const { page } = owner;
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Legal name').fill('Acme GmbH');
    await page.getByLabel('VAT or tax ID').fill('DE123456789');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    await page.getByText('Requests per minute').waitFor();
    await expectGoodLooks(page, 'settings');
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByText('VAT or tax ID').waitFor();
  });

  test('is warned in Slack, sees what was sent, and sends it again', async () => {
    const { page } = owner;
    await page.getByRole('link', { name: 'Alerts' }).click();
    await page.getByLabel('Webhook URL').fill(`http://127.0.0.1:${hook.port}/services/T0/B0/x`);
    await page.getByLabel('Messages to it').selectOption('Text for Slack');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').first().waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await expect.poll(() => hook.requests.length, SOON).toBe(1);
    await page.getByRole('cell', { name: 'Delivered' }).waitFor();
    await page.getByRole('cell', { name: 'Slack' }).click();
    const drawer = page.getByRole('dialog', { name: 'Test' });
    await drawer.getByText(/Alerts of your organization arrive here/).waitFor();
    await expectGoodLooks(page, 'delivery');
    await drawer.getByRole('button', { name: 'Send again' }).click();
    await expect.poll(() => hook.requests.length, SOON).toBe(2);
    expect(hook.requests[1]?.body).toBe(hook.requests[0]?.body);
    await page.keyboard.press('Escape');
  });

  test('pays, and finds the invoice; nothing moves while the page of credits loads', async () => {
    const { page, complaints } = owner;
    await page.getByRole('link', { name: 'Credits' }).click();
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('was added to the balance').waitFor();
    await page.goto(`/o/${organizationId}/credits`);
    await page.getByRole('button', { name: 'Invoice' }).waitFor();
    await page.getByText('What the balance pays for').waitFor();
    expect(await shifts(page)).toEqual([]);
    await page.route('https://invoice.stripe.com/**', (route) => route.fulfill({ body: 'The invoice' }));
    await page.getByRole('button', { name: 'Invoice' }).click();
    await page.getByText('The invoice').waitFor();
    expect(complaints()).toEqual([]);
  });
});
