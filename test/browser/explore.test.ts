import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks, shifts, watchShifts } from './looks.ts';

/** Questions about the own requests, each answered within five clicks from the home page. */
requirement(NO_CHROMIUM, () => {
  const MOST_CLICKS = 5;
  let stack: DashboardStack;
  let organizationId: string;
  let leakedId: string;
  let owner: WatchedPage;
  let clicks = 0;

  beforeAll(async () => {
    stack = await startDashboardStack(inject('postgresSocketDir'), { small: {}, large: {} });
    const { databaseUrl, operator } = stack;
    ({ organizationId } = await operator.customer({ credit: '100', organization: { name: 'Acme' } }));
    ({ keyId: leakedId } = await operator.addKey(organizationId, { key: { name: 'Leaked' } }));
    const filling = { organizationId, days: 1, models: ['small', 'large'] };
    const todayMs = Date.now() - (Date.now() % DAY_MS);
    await fillRequestLog(databaseUrl, { ...filling, rows: 600, endMs: todayMs });
    await fillRequestLog(databaseUrl, { ...filling, rows: 900, keyIds: [leakedId], endMs: Date.now() });
    const password = await stack.createUser('owner@acme.example', { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await watchShifts(owner.page);
    await signIn(owner.page, 'owner@acme.example', password);
  });

  afterAll(() => stack?.close());

  showLogsOnFailure(() => stack);

  async function atHome(): Promise<Page> {
    const { page } = owner;
    await page.goto('/');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.getByRole('table', { name: 'Groups' }).getByRole('row').nth(2).waitFor();
    clicks = 0;
    return page;
  }

  async function click(target: Locator): Promise<void> {
    clicks++;
    await target.click();
  }

  async function openView(page: Page, name: string): Promise<void> {
    await click(page.getByRole('button', { name: 'Views' }));
    await click(page.getByRole('menuitem', { name }));
  }

  const groups = (page: Page) => page.getByRole('table', { name: 'Groups' });

  test('who spent what yesterday, by end user', async () => {
    const page = await atHome();
    await openView(page, 'Spend by end user, yesterday');
    const dearest = await sql<{ user: string; usd: string }>(
      stack.databaseUrl,
      `select end_user as user, round(sum(cost_nano_usd) / 1e9, 3)::text as usd from request_log
       where end_user is not null and cost_nano_usd is not null and id < id_floor('log', date_trunc('day', now(), 'UTC'))
         and id >= id_floor('log', date_trunc('day', now(), 'UTC') - interval '1 day')
       group by 1 order by sum(cost_nano_usd) desc limit 1`,
    );
    const row = groups(page)
      .getByRole('row')
      .filter({ hasText: dearest[0]?.user ?? 'nobody' })
      .first();
    await row.waitFor();
    const [, shown = ''] = /\$([\d.]+)/.exec(await row.innerText()) ?? [];
    expect(Number(shown)).toBeCloseTo(Number(dearest[0]?.usd), 2);
    await expectGoodLooks(page, 'explore-users');
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
  });

  test('when errors began, and of which code', async () => {
    const page = await atHome();
    await openView(page, 'Errors by code');
    const chart = page.getByRole('application', { name: /^Errors by code/ });
    await chart.focus();
    await page.keyboard.press('Home');
    // The keyboard reads the steps out; a click chooses the same.
    while (!/[1-9]/.test(await errorsAt(page))) await page.keyboard.press('ArrowRight');
    const [, code = ''] = /(\w+) [1-9]/.exec(await errorsAt(page)) ?? [];
    clicks++;
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    const rows = page.getByRole('table', { name: 'Requests, newest first' }).getByRole('row');
    await rows.filter({ hasText: code }).first().waitFor();
    expect(await rows.filter({ hasText: /^\S+\s+200\s/ }).count()).toBe(0);
    await expectGoodLooks(page, 'explore-errors');
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
  });

  const errorsAt = async (page: Page) =>
    (await page.getByRole('figure').getByRole('status').innerText()).replace(/^.*?\d: /, '');

  test('which key leaks: its curve, and the addresses that use it', async () => {
    const page = await atHome();
    // Opening the list and choosing from it.
    clicks += 2;
    await page.getByLabel('Group by').selectOption('key');
    await click(groups(page).getByRole('button', { name: 'Leaked' }));
    await page.getByText('Key: Leaked').waitFor();
    await click(page.getByRole('link', { name: 'Show requests' }));
    const list = page.getByRole('table', { name: 'Requests, newest first' });
    await list.getByRole('row').filter({ hasText: 'Leaked' }).first().waitFor();
    expect(await list.innerText()).toContain('198.51.100.');
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
  });

  test('a drag on the chart narrows its time, and a view that is saved comes back', async () => {
    const page = await atHome();
    await page.goto(`/o/${organizationId}/overview?range=24h`);
    const chart = page.getByRole('application');
    const box = await chart.boundingBox();
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
