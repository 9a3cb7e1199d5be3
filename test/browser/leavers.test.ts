import { beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';

/** Members leave, and their keys are revoked or handed over. */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));
  let organizationId: string;
  let owner: WatchedPage;
  const EMAIL = 'owner@acme.example';

  beforeAll(async () => {
    ({ organizationId } = await stack.operator.customer({ credit: '10', organization: { name: 'Acme' } }));
    const password = await stack.createUser(EMAIL, { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await signIn(owner.page, EMAIL, password);
  });

  showLogsOnFailure(() => stack);

  /** Creates a member with a key, who will leave. */
  async function memberWithKey(email: string, keyName: string): Promise<void> {
    const password = await stack.createUser(email, { organizationId, role: 'member' });
    const { page } = await openPage(stack);
    await signIn(page, email, password);
    await page.waitForURL(/\/overview/);
    await page.goto(`/o/${organizationId}/keys?dialog=create`);
    await page.getByRole('dialog').getByLabel('Name').fill(keyName);
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: /Your new key/ }).waitFor();
    await page.close();
  }

  async function openRemoval(email: string) {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/members`);
    await page.getByRole('row', { name: email }).getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    return page.getByRole('group', { name: 'Their 1 active key' });
  }

  test("an owner removes a member together with the member's keys", async () => {
    const { page } = owner;
    await memberWithKey('ben@acme.example', 'Made by Ben');
    const keys = await openRemoval('ben@acme.example');
    await keys.getByRole('radio', { name: 'Revoke it', checked: true }).waitFor();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('ben@acme.example was removed. 1 key was revoked.').waitFor();
    await page.goto(`/o/${organizationId}/audit`);
    await page.getByLabel('Action').selectOption({ label: 'Revoked a key' });
    await page.waitForURL((url) => url.searchParams.get('action') === 'key.revoked');
    await page.getByRole('row', { name: /Revoked the key Made by Ben/ }).waitFor();
    await page.getByText('1 event', { exact: true }).waitFor();
    expect(owner.complaints()).toEqual([]);
  });

  test("an owner removes a member and takes over the member's keys", async () => {
    const { page } = owner;
    await memberWithKey('cy@acme.example', 'Made by Cy');
    const keys = await openRemoval('cy@acme.example');
    await keys.getByRole('radio', { name: 'Hand it to an owner' }).check();
    expect(await page.getByLabel('New owner of the key').inputValue()).toMatch(/^usr-/);
    expect(await barriersWhenStill(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText(`cy@acme.example was removed. 1 key belongs to ${EMAIL} now.`).waitFor();
    await page.goto(`/o/${organizationId}/audit`);
    const row = page.getByRole('row', { name: /Handed the key Made by Cy over/ });
    await row.getByText('cy@acme.example', { exact: true }).waitFor();
    await page.goto(`/o/${organizationId}/keys`);
    await page
      .getByRole('row', { name: /Made by Cy/ })
      .getByText(EMAIL)
      .waitFor();
    expect(owner.complaints()).toEqual([]);
  });

  test("an operator disables a user together with the user's keys", async () => {
    await memberWithKey('di@acme.example', 'Made by Di');
    const { page, complaints } = await openPage(stack);
    await signIn(page, 'operator@gateway.example', await stack.createUser('operator@gateway.example', 'operator'));
    await page.goto('/operator/users');
    await page.getByRole('row', { name: 'di@acme.example' }).getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    expect(await page.getByRole('checkbox', { name: 'Revoke their API keys' }).isChecked()).toBe(true);
    expect(await barriersWhenStill(page)).toEqual([]);
    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await page.getByText('di@acme.example is signed out and disabled').waitFor();
    await page.goto(`/o/${organizationId}/audit`);
    await page.getByRole('row', { name: /Revoked the key Made by Di/ }).waitFor();
    expect(complaints()).toEqual([]);
  });
});
