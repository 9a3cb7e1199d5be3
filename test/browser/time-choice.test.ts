import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '#core/clock.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';

/** The button for a page's time range, with its calendar. */
requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let password: string;
  let watched: WatchedPage;

  beforeAll(async () => {
    stack = await startDashboardStack(inject('postgresSocketDir'), { small: {} });
    ({ organizationId } = await stack.operator.customer({ credit: '100', organization: { name: 'Acme' } }));
    await fillRequestLog(stack.databaseUrl, { organizationId, rows: 200, days: 2, models: ['small'] });
    password = await stack.createUser('operator@gateway.example', 'operator');
    watched = await openPage(stack);
    await signIn(watched.page, 'operator@gateway.example', password);
  });

  afterAll(() => stack?.close());

  showLogsOnFailure(() => stack);

  const span = () => {
    const { searchParams } = new URL(watched.page.url());
    return [Number(searchParams.get('fromMs')), Number(searchParams.get('toMs'))] as const;
  };
  const button = () => watched.page.getByRole('button', { name: /^Time: / });

  test('a preset time range takes one click, which closes the list', async () => {
    const { page } = watched;
    await page.goto(`/o/${organizationId}/overview`);
    await button().click();
    await page.getByRole('grid').waitFor();
    await expectGoodLooks(page, 'time-choice');
    await page.getByRole('button', { name: 'Last 24 hours' }).click();
    await page.waitForURL((url) => url.searchParams.get('range') === '24h');
    await page.getByRole('dialog', { name: 'Time' }).waitFor({ state: 'hidden' });
    expect(await button().textContent()).toBe('Last 24 hours');
  });

  test('two clicks in either order select a range of days, which times refine', async () => {
    const { page } = watched;
    await page.goto(`/o/${organizationId}/overview?fromMs=1763596800000&toMs=1763640000000`);
    await button().click();
    for (const date of ['November 12, 2025', 'November 11, 2025']) {
      await page.getByRole('grid').getByRole('button', { name: date }).click();
    }
    await page.waitForURL((url) => !url.search.includes('1763596800000'));
    const [fromMs, toMs] = span();
    expect(toMs - fromMs).toBe(2 * DAY_MS);
    expect(await page.getByRole('gridcell', { selected: true }).allTextContents()).toEqual(['11', '12']);
    await page.getByText('To the end of Nov 12, 2025.').waitFor();
    await page.getByLabel('To', { exact: true }).fill('17:30');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => Number(url.searchParams.get('toMs')) === toMs - 6.5 * 3_600_000);
    // A range that ends before it starts is refused.
    await page.goto(page.url().replace(/toMs=\d+/, `toMs=${fromMs + DAY_MS / 2}`));
    await button().click();
    await page.getByLabel('From', { exact: true }).fill('13:00');
    await page.keyboard.press('Enter');
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('00:00');
    expect(span()).toEqual([fromMs, fromMs + DAY_MS / 2]);
  });

  test('a month of the calendar has the UTC days of which its figures are', async () => {
    const { page } = watched;
    await page.goto(`/o/${organizationId}/overview?fromMs=${Date.UTC(2026, 9, 5)}&toMs=${Date.UTC(2026, 9, 6)}`);
    await button().click();
    const grid = page.getByRole('grid', { name: 'October 2026' });
    for (const date of ['October 1, 2026', 'October 31, 2026']) await grid.getByRole('button', { name: date }).click();
    await page.waitForURL((url) => url.searchParams.get('toMs') === String(Date.UTC(2026, 10, 1)));
    expect(span()[0]).toBe(Date.UTC(2026, 9, 1));
    expect(await button().textContent()).toBe('Oct 1 – 31, 2026 (UTC)');
    const selected = await page.getByRole('gridcell', { selected: true }).allTextContents();
    expect([selected.length, selected[0], selected.at(-1)]).toEqual([31, '1', '31']);
    const days = page.getByRole('table', { name: 'Spend' }).getByRole('rowheader');
    await expect.poll(() => days.first().textContent()).toBe('Thu, Oct 1 UTC');
    expect([await days.count(), await days.last().textContent()]).toEqual([31, 'Sat, Oct 31 UTC']);
  });

  test.each([
    ['ahead', DAY_MS],
    ['behind', -DAY_MS],
  ])('ranges end now, even if the clock of the browser is a day %s', async (_, wrongByMs) => {
    const { page } = await openPage(stack);
    await page.clock.install({ time: Date.now() + wrongByMs });
    await signIn(page, 'operator@gateway.example', password);
    const asked = page.waitForRequest((request) => request.url().includes('/explore?'));
    await page.goto(`/o/${organizationId}/requests?range=1h`);
    const { searchParams } = new URL((await asked).url());
    expect(Math.abs(Number(searchParams.get('toMs')) - Date.now())).toBeLessThan(HOUR_MS);
    await page.goto('/account');
    await page.getByRole('row', { name: 'This device' }).getByText('just now').waitFor();
    await page.context().close();
  });

  test.each([
    ['o/ORGANIZATION/requests?range=yesterday', /api.*requests\?/, 'fromMs'],
    ['o/ORGANIZATION/audit?range=24h', /api.*audit\?/, 'fromMs'],
    ['operator/costs?range=yesterday', /api.*costs\?/, 'from'],
  ])('the range of a page that stays open over midnight is that of the new day: %s', async (path, endpoint, name) => {
    const { page } = await openPage(stack);
    let laterMs = 0;
    await page.route('**/api/**', async (route) => {
      const response = await route.fetch();
      const date = new Date(Date.now() + laterMs).toUTCString();
      await route.fulfill({ response, headers: { ...response.headers(), date } });
    });
    await page.clock.install();
    await signIn(page, 'operator@gateway.example', password);
    const from = (request: { url(): string }) => {
      const text = new URL(request.url()).searchParams.get(name) ?? '';
      return Number(text) || Date.parse(text);
    };
    const first = page.waitForRequest(endpoint);
    await page.goto(`/${path.replace('ORGANIZATION', organizationId)}`);
    const before = from(await first);
    laterMs = DAY_MS;
    const isOfNewDay = (request: { url(): string }) => from(request) - before > DAY_MS - HOUR_MS;
    const second = page.waitForRequest((request) => endpoint.test(request.url()) && isOfNewDay(request), {
      timeout: 20_000,
    });
    await page.clock.fastForward(DAY_MS);
    await second;
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });

  test('the keyboard selects a range too', async () => {
    const { page, complaints } = watched;
    const [fromMs, toMs] = [Date.UTC(2026, 2, 31), Date.UTC(2026, 3, 1)];
    await page.goto(`/operator/costs?fromMs=${fromMs}&toMs=${toMs}`);
    await button().focus();
    expect(await button().textContent()).toBe('Mar 31, 2026 (UTC)');
    await page.keyboard.press('Enter');
    await page.getByRole('grid', { name: 'March 2026' }).getByRole('button', { name: 'March 31' }).focus();
    for (const key of ['PageUp', 'Enter', 'ArrowUp', 'Home', 'Enter']) await page.keyboard.press(key);
    await page.waitForURL((url) => url.searchParams.get('fromMs') === String(Date.UTC(2026, 1, 15)));
    expect(span()).toEqual([Date.UTC(2026, 1, 15), Date.UTC(2026, 2, 1)]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Time' }).waitFor({ state: 'hidden' });
    await button().and(page.locator(':focus')).waitFor();
    expect(await button().textContent()).toBe('Feb 15 – 28, 2026 (UTC)');
    expect(complaints()).toEqual([]);
  });
});
