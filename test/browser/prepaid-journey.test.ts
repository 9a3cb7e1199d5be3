import OpenAI from 'openai';
import type { BrowserContext, Page } from 'playwright-core';
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
import { jsonAnswer } from '../provider/acts.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';
import { confirmAtIssuer, listenAsOpenIdProvider, type OpenIdProvider, signInByIssuer } from './openid-provider.ts';

const MODELS = {
  /** A play with a limit of 1,000 tokens holds 0.20 USD and costs 0.002 USD. */
  small: { usd_per_million_tokens: { input: 100, output: 200 } },
  /** Ten output tokens cost 9.90 USD. */
  vast: { usd_per_million_tokens: { input: 0, output: 990_000 } },
};
const VERA = 'vera@people.example';

/**
 * A new customer signs in, pays, spends everything, and continues with a saved card. The tests run
 * in order.
 */
requirement(NO_CHROMIUM, () => {
  let [stripe, mail, hook, issuer]: [ScriptedStripe, MailServer, WebhookReceiver, OpenIdProvider] = [] as never;
  let stack: DashboardStack;
  let vera: WatchedPage;
  let page: Page;
  let base: string;
  let secret: string;

  beforeAll(async () => {
    [stripe, mail, hook, issuer] = await Promise.all([
      startScriptedStripe(),
      startMailServer(),
      startWebhookReceiver(),
      listenAsOpenIdProvider(),
    ]);
    const { secretKey, webhookSecret, apiBase } = stripe.config;
    stack = await startDashboardStack(inject('postgresSocketDir'), MODELS, [], {
      mail: { smtp_url: `smtp://127.0.0.1:${mail.port}`, from: 'noreply@gateway.example' },
      webhooks: { private_networks: ['127.0.0.0/8'] },
      sign_in: { ...issuer.signIn, password: false },
      payments: { stripe: { secret_key: secretKey, webhook_secret: webhookSecret, api_base: apiBase.origin } },
    });
    stripe.deliverTo = stack.dashboardOrigin;
    issuer.serve(stack.dashboardOrigin);
    issuer.people.set('ops', { email: 'ops@gateway.example', email_verified: true, groups: ['gateway-operators'] });
    issuer.people.set('vera', { email: VERA, email_verified: true });
  });

  afterAll(async () => {
    await stack?.close();
    await Promise.all([stripe?.close(), mail?.close(), hook?.close(), issuer?.close()]);
  });

  showLogsOnFailure(() => stack);

  const newestMail = (subject: string) => mail.mails.findLast(({ head }) => head.includes(subject))?.text ?? '';
  const told = (type: string): Record<string, unknown> | undefined => {
    const request = hook.requests.findLast(({ body }) => body.includes(`"${type}"`));
    return request && (new Webhook(secret).verify(request.body, request.headers as Record<string, string>) as never);
  };
  const complaints = () => vera.complaints();

  test('an operator by claim creates an organization, and its owner joins from a mail through the issuer', async () => {
    const operator = await openPage(stack);
    await operator.page.goto('/sign-in');
    await expectGoodLooks(operator.page, '01-sign-in');
    await signInByIssuer(operator.page, 'ops');
    await operator.page.getByRole('heading', { name: 'All organizations', level: 1 }).waitFor();
    await operator.page.getByRole('link', { name: 'Organizations', exact: true }).click();
    await operator.page.getByRole('heading', { name: 'Organizations', exact: true, level: 1 }).waitFor();
    await expectGoodLooks(operator.page, '02-operator');
    await operator.page.getByRole('button', { name: 'New organization' }).first().click();
    const creation = operator.page.getByRole('dialog');
    await creation.getByLabel('Name').fill('Acme');
    await creation.getByRole('button', { name: 'Create organization' }).click();
    await operator.page.waitForURL((url) => url.pathname.startsWith('/o/'));
    base = new URL(operator.page.url()).pathname.replace(/\/[^/]+$/, '');
    await operator.page.goto(`${base}/members?dialog=invite`);
    const invitation = operator.page.getByRole('dialog', { name: 'Invite someone' });
    await invitation.getByLabel('Email').fill(VERA);
    await invitation.getByLabel('Owner').check();
    await expectGoodLooks(operator.page, '03-invite');
    await invitation.getByRole('button', { name: 'Invite', exact: true }).click();
    await operator.page.getByRole('dialog', { name: 'Email sent' }).waitFor();
    await expectGoodLooks(operator.page, '04-invited');
    expect(operator.complaints()).toEqual([]);
    await operator.page.context().close();

    await expect.poll(() => newestMail('Invitation to Acme')).toContain('/link#');
    const [link = ''] = /http\S+\/link#\S+/.exec(newestMail('Invitation to Acme')) ?? [];
    vera = await openPage(stack);
    ({ page } = vera);
    await page.goto(link);
    await page.getByRole('heading', { name: 'Join Acme', level: 1 }).waitFor();
    await expectGoodLooks(page, '05-join');
    await signInByIssuer(page, 'vera');
    await page.getByRole('button', { name: 'Join', exact: true }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/o/'));
    await page.getByText('The balance is used up').waitFor();
    await page.getByText('First steps').waitFor();
    await expectGoodLooks(page, '06-overview');
    expect(complaints()).toEqual([]);
  });

  test('her payment of 10 USD at Stripe updates the balance on each open page', async () => {
    await page.getByRole('link', { name: 'Add credit' }).first().click();
    const amounts = page.getByRole('dialog', { name: 'Add credit' });
    await amounts.getByRole('button', { name: 'Cancel' }).click();
    // Checked before the dialog opens, which hides the roles of the page behind it.
    await page.getByRole('heading', { name: 'Credits', level: 1 }).waitFor();
    await page.getByText('No payments yet').waitFor();
    await expectGoodLooks(page, '07-credits');
    await page.getByRole('button', { name: 'Add credit' }).click();
    await amounts.getByText('$10', { exact: true }).click();
    await expectGoodLooks(page, '08-amount');
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    stripe.late = true;
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('Waiting for the payment').waitFor();
    await expectGoodLooks(page, '09-waiting');
    // A second page, to which nobody returns from Stripe.
    const beside = await otherPage(page.context(), `${base}/credits`);
    await Promise.all([expectFollowing(page), expectFollowing(beside)]);
    expect(new Set(await stripe.deliverAll())).toEqual(new Set([200]));
    await Promise.all([expectSoon(page, '$10.00'), expectSoon(beside, '$10.00')]);
    await page.getByText('was added to the balance').waitFor();
    stripe.late = false;
    await expectGoodLooks(page, '10-paid');
    await beside.close();
    expect(complaints()).toEqual([]);
  });

  test('she uses the playground, gets alerts about the low balance by mail and webhook, and is refused with 402', async () => {
    await page.goto(`${base}/alerts`);
    await page.getByLabel('Balance below').fill('5');
    await page.getByLabel('Email addresses').fill(VERA);
    await page.getByLabel('Email addresses').press('Enter');
    await page.getByLabel('Webhook URL').fill(`http://127.0.0.1:${hook.port}/hook`);
    await expectGoodLooks(page, '11-alerts');
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Webhook secret' });
    secret = await dialog.getByText(/^whsec_/).innerText();
    await dialog.getByRole('button', { name: 'Done' }).click();

    await page.goto(`${base}/playground`);
    await say('Hello');
    await answer().getByText('10 in, 5 out').waitFor();
    await answer().getByRole('link', { name: 'Show in the log' }).waitFor();
    await expectGoodLooks(page, '12-play');

    await spend();
    await expect.poll(() => newestMail('Balance below')).toContain(`${stack.dashboardOrigin}${base}/credits`);
    await expect.poll(() => told('balance.low')).toMatchObject({ data: { threshold_usd: 5 } });

    await say('And now?');
    await answer().getByText('402 insufficient_credits').first().waitFor();
    await expectGoodLooks(page, '13-refused');
    expect(complaints()).toEqual([]);
  });

  /** Spends all but 0.098 USD with a new key of hers. */
  async function spend(): Promise<void> {
    const keys = await otherPage(page.context(), `${base}/keys`);
    await keys.getByRole('button', { name: 'Create key' }).first().click();
    const form = keys.getByRole('dialog', { name: 'Create an API key' });
    await form.getByLabel('Name').fill('Production');
    await form.getByRole('button', { name: 'Create key' }).click();
    const shown = keys.getByRole('dialog', { name: /Your new key/ });
    const apiKey = (await shown.locator('code', { hasText: 'sk-gw-' }).first().innerText()).trim();
    await keys.close();
    stack.provider.script('vast', jsonAnswer({ usage: { prompt_tokens: 10, completion_tokens: 10 } }));
    const client = new OpenAI({ baseURL: `${stack.origin}/v1`, apiKey, maxRetries: 0 });
    await client.chat.completions.create({
      ...{ model: 'vast', max_tokens: 10 },
      messages: [{ role: 'user', content: 'Hello' }],
    });
  }

  test('a declined card is reported with advice, and once it is charged she continues', async () => {
    const [credits] = await Promise.all([
      page.context().waitForEvent('page'),
      answer().getByRole('link', { name: 'Add credit' }).click(),
    ]);
    await credits.getByRole('dialog', { name: 'Add credit' }).getByRole('button', { name: 'Cancel' }).click();
    await credits.getByRole('button', { name: 'Save a card' }).click();
    await credits.getByRole('button', { name: 'Save' }).click();
    await credits.getByText('The card is saved').waitFor();
    await expectGoodLooks(credits, '14-card');
    stripe.world.declines = 'Your card has insufficient funds.';
    await credits.getByRole('button', { name: 'Turn on' }).click();
    const dialog = credits.getByRole('dialog', { name: 'Automatic top-up' });
    await dialog.getByLabel('Daily cap').fill('50');
    await expectGoodLooks(credits, '14-automatic');
    await dialog.getByRole('button', { name: 'Save' }).click();
    // The issuer did not state when she last authenticated.
    await credits.getByRole('dialog', { name: 'Confirm it’s you' }).waitFor();
    await expectGoodLooks(credits, '15-confirm');
    await confirmAtIssuer(credits, 'vera');
    await dialog.waitFor({ state: 'detached' });
    await credits.getByText('Automatic top-up has stopped').waitFor();
    await expectGoodLooks(credits, '15-stopped');
    await expect.poll(() => newestMail('top-up')).toContain(`${stack.dashboardOrigin}${base}/credits`);
    await expect.poll(() => told('top_up.failed')).toMatchObject({ data: { amount_usd: 10, automatic: true } });

    stripe.world.declines = undefined;
    const { charges } = stripe.world;
    await credits.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => stripe.world.charges, { interval: 20 }).toBe(charges + 1);
    await expectSoon(credits, '$10.10');
    await credits.getByText('Automatic top-up has stopped').waitFor({ state: 'detached' });
    await expectGoodLooks(credits, '16-going-on');
    await credits.close();

    await answer().getByRole('button', { name: 'Send again' }).click();
    await answer().getByText('10 in, 5 out').waitFor();
    await page.goto(`${base}/alerts`);
    await page.getByText('Failed top-up').first().waitFor();
    await expectGoodLooks(page, '17-deliveries');
    expect(complaints()).toEqual([]);
  });

  const answer = () =>
    page
      .getByRole('article')
      .filter({ hasNot: page.getByRole('heading', { name: 'You' }) })
      .last();
  async function say(text: string): Promise<void> {
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
  }
});

/** Counts the page's requests for payments, and for the organization, which it polls every 15 s. */
function countLooks(page: Page) {
  const looks = { payments: 0, organization: 0 };
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.endsWith('/top-ups')) looks.payments++;
    if (/organizations\/[^/]+$/.test(pathname)) looks.organization++;
  });
  return looks;
}

/** Expects that the page polls payments once a second. */
async function expectFollowing(page: Page): Promise<void> {
  const looks = countLooks(page);
  await expect.poll(() => looks.payments).toBeGreaterThan(3);
  expect(looks.payments).toBeGreaterThan(looks.organization);
}

/**
 * Expects that one of the next polls shows the balance, 0.6 to 1.3 s after the event at a load of
 * 7.
 */
async function expectSoon(page: Page, amount: string): Promise<void> {
  const looks = countLooks(page);
  await page.locator('dd', { hasText: amount }).first().waitFor();
  // Polling only the organization would take up to 15 s.
  expect(looks.payments).toBeLessThan(12);
}

async function otherPage(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  return page;
}
