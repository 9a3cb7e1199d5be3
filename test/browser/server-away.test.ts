import { beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';

/**
 * The dashboard's server is down for a while, as in a restart, and users do nothing afterwards.
 * These pages load their data only once.
 */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));
  let organizationId: string;
  let owner: WatchedPage;

  beforeAll(async () => {
    ({ organizationId } = await stack.operator.customer({ credit: '10', organization: { name: 'Acme' } }));
    const password = await stack.createUser('owner@acme.example', { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await signIn(owner.page, 'owner@acme.example', password);
  });

  showLogsOnFailure(() => stack);

  const goAway = () => owner.page.context().route('**/*', (route) => route.abort('connectionrefused'));
  const comeBack = () => owner.page.context().unrouteAll();

  test('a page that failed to load appears by itself when the server is back', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/members`);
    await page.getByRole('row', { name: /owner@acme/ }).waitFor();
    await goAway();
    await page.getByRole('link', { name: 'Error codes' }).click();
    await page.getByText('It appears by itself when the server can be reached again.').waitFor();
    expect(await page.getByRole('button', { name: 'Reload the page' }).count()).toBe(0);
    await comeBack();
    await page.getByText('context_length_exceeded').first().waitFor();
  });

  test('failed requests of a page are repeated, and the banner disappears', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/audit`);
    await page.getByRole('row', { name: /Acme/ }).first().waitFor();
    await goAway();
    await page.getByLabel('Action').selectOption({ label: 'Revoked a key' });
    await page.getByText('The dashboard server cannot be reached').first().waitFor();
    await page.getByText('Connection lost').waitFor();
    await comeBack();
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
    await page.getByText('The dashboard server cannot be reached').first().waitFor({ state: 'detached' });
  });
});
