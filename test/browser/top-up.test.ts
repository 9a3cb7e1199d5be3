import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';

/**
 * An owner pays at Stripe, whose event does not arrive. prepaid-journey.test.ts has the usual
 * cases.
 */
requirement(NO_CHROMIUM, () => {
  const stripe = opened(startScriptedStripe);
  let stack: DashboardStack;
  let organizationId: string;
  let password: string;
  let owner: WatchedPage;
  const EMAIL = 'owner@acme.example';

  beforeAll(async () => {
    const { secretKey, webhookSecret, apiBase } = stripe.config;
    const section = { secret_key: secretKey, webhook_secret: webhookSecret, api_base: apiBase.origin };
    stack = await startDashboardStack(inject('postgresSocketDir'), { small: {} }, [], {
      payments: { stripe: section },
    });
    stripe.deliverTo = stack.dashboardOrigin;
    ({ organizationId } = await stack.operator.customer({ credit: '0.001', organization: { name: 'Acme' } }));
    password = await stack.createUser(EMAIL, { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await signIn(owner.page, EMAIL, password);
  });

  afterAll(async () => {
    await stack?.close();
  });

  showLogsOnFailure(() => stack);

  test("a payment without an event is read from Stripe on the owner's request, and a later event adds nothing", async () => {
    const { page, complaints } = owner;
    await page.goto(`/o/${organizationId}/credits`);
    await page.getByRole('button', { name: 'Add credit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add credit' });
    await dialog.getByText('$10', { exact: true }).click();
    // Stripe's page takes a while. Each press of the button would begin a payment.
    const begun: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && begun.push(new URL(request.url()).pathname));
    await page.route(`${stripe.config.apiBase.origin}/**`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await page.evaluate("setInterval(() => document.querySelector('[role=dialog] [type=submit]')?.click(), 20)");
    await page.getByRole('button', { name: 'Pay', exact: true }).waitFor();
    await page.unrouteAll();
    expect(begun).toEqual([`/api/organizations/${organizationId}/top-ups`]);
    stripe.late = true;
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.locator('dd', { hasText: '$10.00' }).first().waitFor();
    stripe.late = false;
    expect(new Set(await stripe.deliverAll())).toEqual(new Set([200]));
    await page.reload();
    await page.locator('dd', { hasText: '$10.00' }).first().waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);
    await expectGoodLooks(page, 'top-up');
    expect(complaints()).toEqual([]);
  });
});
