import type { Page } from 'playwright-core';
import { beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks, shifts, watchShifts } from './looks.ts';

/** The explorer of one organization and of all organizations. */
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

  test('a drag on the chart narrows the time range, and a saved view restores it', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/overview?range=24h`);
    // The plot appears after its container.
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
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const of = `/api/organizations/${organizationId}`;
    await expect.poll(() => asked).toContain(`GET ${of}/views`);
    // A refetch would load all pages of the log again.
    expect(asked).not.toContain(`GET ${of}/requests`);
    await page.goto(`/o/${organizationId}/overview?by=key&range=month`);
    await openView(page, 'That night');
    await page.waitForURL((url) => url.search === search);
  });

  test('a saved view is visible to others, and only its creator renames, replaces or deletes it', async () => {
    const { page } = owner;
    const submit = (name: string) => page.getByRole('dialog').getByRole('button', { name }).click();
    const saved = () =>
      sql<object>(stack.databaseUrl, "select name, page, search from saved_views where name like '%costs%'");
    await page.goto(`/o/${organizationId}/overview?by=key&range=30d`);
    await openView(page, 'Save this view…');
    await page.getByRole('textbox', { name: 'Name' }).fill('What a key costs');
    await expectGoodLooks(page, 'save-view');
    await submit('Save view');
    await expect.poll(saved).toEqual([{ name: 'What a key costs', page: 'overview', search: '?range=30d&by=key' }]);

    const password = await stack.createUser('member@acme.example', { organizationId, role: 'member' });
    const member = await openPage(stack);
    await signIn(member.page, 'member@acme.example', password);
    await member.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await member.page.keyboard.press('Control+k');
    await member.page.getByRole('dialog').getByRole('combobox').fill('view key costs');
    await member.page.getByRole('option', { name: 'What a key costs' }).waitFor();
    await member.page.keyboard.press('Enter');
    await member.page.waitForURL((url) => url.pathname.endsWith('/overview') && url.search === '?range=30d&by=key');
    await member.page.getByRole('button', { name: 'Views' }).click();
    const item = member.page.getByRole('menuitem', { name: /What a key costs.*owner@acme\.example.*chosen/ });
    await item.waitFor();
    expect(await member.page.getByRole('menuitem', { name: 'Edit this view…' }).count()).toBe(0);

    await openView(page, 'Edit this view…');
    await page.getByRole('textbox', { name: 'Name' }).fill('Spend costs');
    await submit('Rename view');
    await expect.poll(saved).toMatchObject([{ name: 'Spend costs', search: '?range=30d&by=key' }]);
    await page.goto(`/o/${organizationId}/requests?status=4xx`);
    await openView(page, 'Save this view…');
    await page.getByRole('textbox', { name: 'Name' }).fill('Spend costs');
    await submit('Replace view');
    await expect.poll(saved).toEqual([{ name: 'Spend costs', page: 'requests', search: '?status=4xx' }]);
    await openView(page, 'Edit this view…');
    await submit('Delete for everyone');
    await expect.poll(saved).toEqual([]);
    await member.page.reload();
    await member.page.getByRole('button', { name: 'Views' }).click();
    await member.page.getByRole('menuitem', { name: 'That night' }).waitFor();
    expect(await member.page.getByRole('menuitem', { name: /costs/ }).count()).toBe(0);
    expect(member.complaints()).toEqual([]);
  });

  test('the keyboard goes on at the filters after one is removed, and after all are cleared', async () => {
    const { page } = owner;
    const focused = () => page.evaluate<string>('document.activeElement.innerText');
    await page.goto(`/o/${organizationId}/overview?range=7d&status=4xx&streamed=yes`);
    await page.getByRole('button', { name: 'Remove Streamed' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('Filter');
    const clear = page.getByRole('button', { name: 'Clear' });
    await clear.focus();
    await page.keyboard.press('Enter');
    await clear.waitFor({ state: 'detached' });
    expect(await focused()).not.toBe('');
    expect(await page.evaluate('document.activeElement === document.body')).toBe(false);
  });

  test('a filter calls no field optional, and forced colors show which measure is chosen', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/overview`);
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByLabel('Minimum duration in milliseconds').waitFor();
    expect(await page.getByRole('dialog').getByText('optional').filter({ visible: true }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.emulateMedia({ forcedColors: 'active' });
    for (const chosen of ['main [aria-pressed="true"]', 'nav [aria-current="page"]']) {
      const outline = `getComputedStyle(document.querySelector('${chosen}')).outlineStyle`;
      expect(await page.evaluate(outline), chosen).toBe('solid');
    }
    await page.emulateMedia({ forcedColors: 'none' });
  });

  test('letters that are typed while the palette is loaded are in its box', async () => {
    const { page } = owner;
    const loaded = Promise.withResolvers<void>();
    await page.route(/\/palette-[^/]+\.js$/, (route) => loaded.promise.then(() => route.continue()));
    await page.goto(`/o/${organizationId}/requests`);
    const search = page.getByRole('searchbox', { name: 'Request or generation id' });
    await search.focus();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('mod');
    loaded.resolve();
    await page.getByRole('option').first().waitFor();
    await page.keyboard.type('els');
    await expect.poll(() => page.getByRole('dialog').getByRole('combobox').inputValue()).toBe('models');
    await page.keyboard.press('Escape');
    expect(await search.inputValue()).toBe('');
    await page.keyboard.press('Control+k');
    expect(await page.getByRole('dialog').getByRole('combobox').inputValue()).toBe('');
    await page.keyboard.press('Escape');
    await page.unroute(/\/palette-[^/]+\.js$/);
  });

  test('until the palette is loaded Enter acts on nothing else, and Escape or a click elsewhere ends it', async () => {
    const { page } = owner;
    await page.route(/\/palette-[^/]+\.js$/, () => undefined);
    await page.goto(`/o/${organizationId}/requests`);
    const search = page.getByRole('searchbox', { name: 'Request or generation id' });
    await page.getByRole('button', { name: 'Filter', exact: true }).focus();
    for (const key of ['Control+k', 'a', 'Enter', 'Escape']) await page.keyboard.press(key);
    await search.pressSequentially('log-');
    await page.keyboard.press('Control+k');
    await search.click();
    await page.keyboard.type('0');
    expect(await search.inputValue()).toBe('log-0');
    expect(await page.getByRole('dialog').filter({ visible: true }).count()).toBe(0);
    await page.unroute(/\/palette-[^/]+\.js$/);
  });

  test('requests are grouped by a member of the metadata once it is named', async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/overview?range=7d`);
    const by = page.getByLabel('Group by');
    await by.selectOption('metadata');
    await page.getByLabel('Name in the metadata').fill('team');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('by') === 'metadata.team');
    await groups(page).getByRole('row').filter({ hasText: 'green' }).waitFor();
    await by.selectOption('key');
    await page.waitForURL((url) => url.searchParams.get('by') === 'key');
    await page.getByLabel('Name in the metadata').waitFor({ state: 'detached' });
  });

  test('figures of the former choice are marked as such, and stay when a refresh fails', async () => {
    const { page } = owner;
    await page.clock.install();
    await page.goto(`/o/${organizationId}/overview?by=key&range=7d`);
    const head = (name: string) => groups(page).getByRole('columnheader', { name, exact: true });
    // Rows without data have no buttons.
    await groups(page).getByRole('cell').getByRole('button').first().waitFor();
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await page.route('**/explore?**', (route) => held.then(() => route.continue()));
    await page.getByLabel('Group by').selectOption('model');
    const stale = page.locator('[aria-busy="true"]').getByRole('table', { name: 'Groups' });
    await expect.poll(() => stale.count()).toBe(1);
    expect(await head('Key').count()).toBe(1);
    expect(await page.getByRole('button', { name: 'Export CSV' }).isDisabled()).toBe(true);
    goOn();
    await head('Model').waitFor();
    await page.unroute('**/explore?**');
    const json = { problem: 'unavailable', message: 'Try again.' };
    await page.route('**/explore?**', (route) => route.fulfill({ status: 503, json }));
    for (let refresh = 0; refresh < 2; refresh++) {
      const failed = page.waitForResponse((response) => response.status() === 503);
      await page.clock.fastForward(16_000);
      await failed;
    }
    expect(await head('Model').count()).toBe(1);
    await page.getByRole('button', { name: /^Errors \d/ }).click();
    await page.getByText('Try again.').first().waitFor();
    await page.unroute('**/explore?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await head('Model').waitFor();
  });

  test('the home page and the request list do not shift while they load', async () => {
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

  test('the operators’ filter and grouping are dropped within an organization', async () => {
    const { page, complaints } = owner;
    for (const name of ['overview', 'requests']) {
      await page.goto(`/o/${organizationId}/${name}?organization=${organizationId}&by=organization&user=%00&key=`);
      await page.getByRole('application').waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    }
    expect(complaints()).toEqual([]);
  });

  test('an operator starts at the explorer of all organizations', async () => {
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
    await openView(page, 'Save this view…');
    await page.getByRole('textbox', { name: 'Name' }).fill('Margins');
    await page.getByRole('dialog').getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goto('/operator/users');
    await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('margins');
    await page.getByRole('option', { name: /^Margins View of all organizations$/ }).click();
    await page.waitForURL((url) => url.pathname === '/operator' && url.search === '?show=margin');
    // A request id that a customer names, of an organization that was never opened here.
    const [row] = await sql<{ id: string }>(stack.databaseUrl, 'select request_id as id from request_log limit 1');
    await page.keyboard.press('Control+k');
    await page
      .getByRole('dialog')
      .getByRole('combobox')
      .fill(row?.id ?? '');
    await page.getByRole('option', { name: /Request of Acme$/ }).click();
    await page.waitForURL((url) => url.pathname === `/o/${organizationId}/requests` && url.searchParams.has('open'));
    expect(complaints()).toEqual([]);
    await page.goto('/operator/costs');
    await page.getByRole('button', { name: /^Revenue \$/ }).waitFor();
    const announced = page.getByRole('status').filter({ hasText: /^\d+ rows?$/ });
    await announced.waitFor();
    const answer = Promise.withResolvers<void>();
    await page.route('**/api/costs?**', (route) => answer.promise.then(() => route.continue()));
    await page.getByLabel('Group by').selectOption('organization');
    await page
      .locator('[aria-busy="true"]')
      .getByRole('button', { name: /^Revenue \$/ })
      .waitFor();
    await page.locator('[aria-busy="true"]').getByText('No charges or losses on these days').waitFor();
    // These rows are still those of the former choice.
    expect(await announced.count()).toBe(0);
    answer.resolve();
    await announced.waitFor();
  });
});
