import { beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack } from './dashboard-stack.ts';

/** An operator signed in a while ago with a password from the command line. */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));
  let organizationId: string;
  let password: string;
  const EMAIL = 'operator@gateway.example';

  beforeAll(async () => {
    ({ organizationId } = await stack.operator.customer({ credit: '10', organization: { name: 'Acme' } }));
    password = await stack.createUser(EMAIL, 'operator');
  });

  showLogsOnFailure(() => stack);

  const waitLong = () => sql(stack.databaseUrl, "update sessions set password_at = password_at - interval '1 hour'");

  test.each([
    ['a desktop, light', 1280, 'light'],
    ['a phone, dark', 390, 'dark'],
  ] as const)('on %s a credit needs the password over its form and is booked once', async (_, width, colorScheme) => {
    const { page, complaints } = await openPage(stack, { width, colorScheme });
    await signIn(page, EMAIL, password);
    await waitLong();
    await page.goto('/operator/organizations');
    await page.getByRole('button', { name: 'Actions for Acme' }).click();
    await page.getByRole('menuitem', { name: 'Add credit' }).click();
    const form = page.getByRole('dialog', { name: 'Credit Acme' });
    await form.getByLabel('Amount').fill('5');
    await form.getByRole('button', { name: /^Add / }).click();
    const asked = page.getByRole('dialog', { name: 'Enter your password' });
    await asked.getByLabel('Password', { exact: true }).fill('not it');
    await asked.getByRole('button', { name: 'Continue' }).click();
    await asked.getByText('This is not your password.').waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);
    // Cancelling the dialog keeps the contents of the form.
    await asked.getByRole('button', { name: 'Cancel' }).click();
    await asked.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Amount').inputValue()).toBe('5');
    await form.getByRole('button', { name: /^Add / }).click();
    await asked.getByLabel('Password', { exact: true }).fill(password);
    await asked.getByRole('button', { name: 'Continue' }).click();
    await asked.waitFor({ state: 'detached' });
    // Looked up by label, because an open dialog hides the roles of the form under it.
    await page.getByLabel('Amount').waitFor({ state: 'detached' });
    expect(complaints()).toEqual([]);
    const entries = await sql(
      stack.databaseUrl,
      `select from ledger_entries where organization_id = '${organizationId}' and amount_nano_usd = 5000000000`,
    );
    expect(entries).toHaveLength(width === 1280 ? 1 : 2);
  });

  test('the password is also requested over a confirmation dialog', async () => {
    await stack.createUser('ben@acme.example', { organizationId, role: 'member' });
    const { page, complaints } = await openPage(stack);
    await signIn(page, EMAIL, password);
    await waitLong();
    await page.goto('/operator/users');
    await page.getByRole('button', { name: 'Actions for ben@acme.example' }).click();
    await page.getByRole('menuitem', { name: 'Link to reset the password' }).click();
    await page.getByRole('button', { name: 'Create link' }).click();
    const asked = page.getByRole('dialog', { name: 'Enter your password' });
    await asked.getByLabel('Password', { exact: true }).fill(password);
    await asked.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(/\/link#/).waitFor();
    expect(complaints()).toEqual([]);
  });

  test('the page asks for a replacement of a password from the command line until it is replaced', async () => {
    const { page, complaints } = await openPage(stack);
    await signIn(page, EMAIL, password);
    await page.getByText('Choose a password of your own').waitFor();
    await page.getByRole('link', { name: 'Choose', exact: true }).click();
    await page.getByLabel('Current password').fill(password);
    await page.getByLabel('New password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Choose a password of your own').waitFor({ state: 'detached' });
    expect(complaints()).toEqual([]);
  });
});
