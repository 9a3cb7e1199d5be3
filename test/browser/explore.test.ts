import type { Page } from 'playwright-core';
import { beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks, shifts, watchShifts } from './looks.ts';

/** The explorer, of an organization and over all of them. */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {}, large: {} }));
  let organizationId: string;
  let owner: WatchedPage;

  beforeAll(async () => {
    const { databaseUrl, operator } = stack;
    ({ organizationId } = await operator.customer({ credit: '100', organization: { name: 'Acme' } }));
    await fillRequestLog(databaseUrl, { organizationId, days: 2, rows: 1_500, models: ['small', 'large'] });
    const password = await stack.createUser('owner@acme.example', { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await watchShifts(owner.page);
    await signIn(owner.page, 'owner@acme.example', password);
  });

  showLogsOnFailure(() => stack);

  async function openView(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name }).click();
  }

  const groups = (page: Page) => page.getByRole('table', { name: 'Groups' });

  test('a drag on the chart narrows its time, and a view that is saved comes back', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/overview?range=24h`);
    // The plot itself, which comes after its place.
    const box = await page.getByRole('application').locator('.u-over').boundingBox();
    if (box === null) throw new Error('the chart has no place');
    await page.mouse.move(box.x + box.width * 0.4, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 80, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL((url) => url.pathname.endsWith('/requests') && url.searchParams.has('fromMs'));
    const { search } = new URL(page.url());
    const span = Number(new URLSearchParams(search).get('toMs')) - Number(new URLSearchParams(search).get('fromMs'));
    expect(span / 3_600_000).toBeGreaterThan(7);
    expect(span / 3_600_000).toBeLessThan(13);
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    await openView(page, 'Save this view…');
    await page.getByLabel('Name').fill('That night');
    await page.getByRole('button', { name: 'Save view' }).click();
    await page.goto(`/o/${organizationId}/usage?by=day,key&range=month`);
    await page.waitForURL((url) => url.pathname.endsWith('/overview') && url.searchParams.get('by') === 'key');
    await openView(page, 'That night');
    await page.waitForURL((url) => url.search === search);
  });

  test('home and requests stand still while they load', async () => {
    const { page, complaints } = owner;
    for (const name of ['overview', 'requests']) {
      await page.goto(`/o/${organizationId}/${name}`);
      await page.locator('[aria-busy="true"], [class*="skeleton"]').first().waitFor({ state: 'detached' });
      await page.getByRole('application').waitFor();
      expect(await shifts(page), name).toEqual([]);
      await expectGoodLooks(page, `explore-${name}`);
    }
    expect(complaints()).toEqual([]);
  });

  test('an operator lands on the same over all organizations', async () => {
    const password = await stack.createUser('operator@gateway.example', 'operator');
    const { page, complaints } = await openPage(stack);
    await signIn(page, 'operator@gateway.example', password);
    await page.getByRole('heading', { name: 'All organizations', level: 1 }).waitFor();
    await groups(page).getByRole('row').filter({ hasText: 'Acme' }).getByText('$100.00').waitFor();
    await page
      .getByRole('button', { name: /Known margin/ })
      .first()
      .click();
    await expectGoodLooks(page, 'explore-operator');
    expect(complaints()).toEqual([]);
  });
});
