import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { type ScriptedStripe, startScriptedStripe } from '../stripe/scripted-stripe.ts';
import { barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';

/** An owner pays at Stripe, saves a card, and lets it be charged below a threshold. */
requirement(NO_CHROMIUM, () => {
  let stripe: ScriptedStripe;
  let stack: DashboardStack;
  let organizationId: string;
  let password: string;
  let owner: WatchedPage;
  const EMAIL = 'owner@acme.example';

  beforeAll(async () => {
    stripe = await startScriptedStripe();
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
    await stripe?.close();
  });

  showLogsOnFailure(() => stack);

  test('10 USD are in the balance when the owner is back from Stripe', async () => {
    const { page, complaints } = owner;
    await page.goto(`/o/${organizationId}/credits`);
    await page.getByRole('button', { name: 'Add credit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add credit' });
    await dialog.getByText('$50', { exact: true }).click();
    await dialog.getByText('$10', { exact: true }).click();
    await expect.poll(() => dialog.getByLabel('Amount in USD').inputValue()).toBe('10');
    expect(await barriersWhenStill(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Continue to payment' }).click();
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('was added to the balance').waitFor();
    await page.locator('dd', { hasText: '$10.00' }).first().waitFor();
    await page.getByRole('link', { name: /^Receipt/ }).waitFor();
    expect(complaints()).toEqual([]);
  });

  test('the balance moves while the page is open, when the event comes late', async () => {
    const { page } = owner;
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    stripe.late = true;
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('Waiting for the payment').waitFor();
    stripe.late = false;
    await stripe.deliverAll();
    await page.locator('dd', { hasText: '$20.00' }).first().waitFor();
  });

  test('a payment without an event is read from Stripe when the owner asks, and an event adds nothing', async () => {
    const { page } = owner;
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    stripe.late = true;
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.locator('dd', { hasText: '$30.00' }).first().waitFor();
    stripe.late = false;
    expect(new Set(await stripe.deliverAll())).toEqual(new Set([200]));
    await page.reload();
    await page.locator('dd', { hasText: '$30.00' }).first().waitFor();
  });

  test('a saved card is charged below the threshold, and a failure is shown until the owner acts', async () => {
    const { page, complaints } = owner;
    await page.getByRole('button', { name: 'Save a card' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('visa 4242').waitFor();
    stripe.world.declines = 'Your card has insufficient funds.';
    const turnOn = async (label: string) => {
      await page.getByRole('button', { name: label, exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Automatic top-up' });
      await dialog.getByLabel('When the balance is below').fill('40');
      await dialog.getByLabel('Charge').fill('15');
      await dialog.getByLabel('Daily cap').fill('15');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await turnOn('Turn on');
    await page.getByText('Automatic top-up has stopped').waitFor();
    await page.getByText('Your card has insufficient funds.').first().waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);
    stripe.world.declines = undefined;
    await turnOn('Change');
    await page.getByText('Automatic top-up has stopped').waitFor({ state: 'detached' });
    await page.locator('dd', { hasText: '$45.00' }).first().waitFor();
    await expectGoodLooks(page, 'top-up');
    expect(complaints()).toEqual([]);
  });
});
