import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import {
  type MailServer,
  startMailServer,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../integration/dashboard/alert-receivers.ts';
import { barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack } from './dashboard-stack.ts';

/** An owner sets up alerts, and a person is invited by mail. */
requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let mail: MailServer;
  let hook: WebhookReceiver;
  let organizationId: string;
  const OWNER = 'owner@acme.example';
  const SOON = { timeout: 30_000, interval: 200 };

  beforeAll(async () => {
    [mail, hook] = await Promise.all([startMailServer(), startWebhookReceiver()]);
    const smtp_url = `smtp://127.0.0.1:${mail.port}`;
    stack = await startDashboardStack(inject('postgresSocketDir'), { small: {} }, [], {
      mail: { smtp_url, from: 'noreply@gateway.example' },
      webhooks: { private_networks: ['127.0.0.0/8'] },
    });
    ({ organizationId } = await stack.operator.customer({ organization: { name: 'Acme' } }));
  });

  afterAll(async () => {
    await stack?.close();
    await Promise.all([mail?.close(), hook?.close()]);
  });

  showLogsOnFailure(() => stack);

  test('an owner sets a mail address and a webhook, gets a test message at both, and invites by mail', async () => {
    const { page, complaints } = await openPage(stack, { width: 390, colorScheme: 'dark' });
    await signIn(page, OWNER, await stack.createUser(OWNER, { organizationId, role: 'owner' }));
    await page.goto(`/o/${organizationId}/alerts`);
    await page.getByLabel('Balance below').fill('5');
    await page.getByLabel('Email addresses').fill(OWNER);
    await page.getByLabel('Email addresses').press('Enter');
    // Without a webhook there is no format to choose, which would be saved nowhere.
    expect(await page.getByLabel('Message format').count()).toBe(0);
    await page.getByLabel('Webhook URL').fill('https://192.168.0.1/hook');
    await page.getByLabel('Message format', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('This URL is not accepted: this is not an address on the Internet.').waitFor();
    await page.getByLabel('Webhook URL').fill(`http://127.0.0.1:${hook.port}/hook`);
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Webhook secret' });
    const secret = await dialog.getByText(/^whsec_/).innerText();
    expect(await barriersWhenStill(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await expect.poll(() => [mail.mails.length, hook.requests.length], SOON).toEqual([1, 1]);
    const [request] = hook.requests;
    const message = new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
    expect(message).toMatchObject({ type: 'test' });
    await page.getByText('accepted by the mail server').waitFor();
    await page.getByText('status 204').waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);

    await page.goto(`/o/${organizationId}/members?dialog=invite`);
    const form = page.getByRole('dialog', { name: 'Invite someone' });
    await form.getByLabel('Email').fill('vera@people.example');
    await form.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByRole('dialog', { name: 'Email sent' }).waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);
    await expect.poll(() => mail.mails.length, SOON).toBe(2);
    const [link = ''] = /http\S+\/link#\S+/.exec(mail.mails[1]?.text ?? '') ?? [];
    const vera = await openPage(stack);
    await vera.page.goto(link);
    await vera.page.getByRole('heading', { name: 'Join Acme', level: 1 }).waitFor();
    expect([...complaints(), ...vera.complaints()]).toEqual([]);
  });
});
