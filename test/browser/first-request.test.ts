import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';

/** What a developer does first: chooses a model. */
requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let member: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    stack = await startDashboardStack(inject('postgresSocketDir'), {
      dear: { usd_per_million_tokens: { input: 9, cached_input: 1, output: 20 }, context_window: 500_000 },
      'lab/cheap': {
        usd_per_million_tokens: { input: 0.5, output: 30, service_tiers: { flex: { input: 0.25, output: 15 } } },
        capabilities: ['tools', 'vision'],
        reasoning_efforts: ['low', 'high'],
      },
    });
    ({ organizationId } = await stack.operator.customer({ credit: '10', organization: { name: 'Acme' } }));
    const other = await stack.operator.customer({ credit: '10', organization: { name: 'Other' } });
    const filling = { days: 1, endMs: Date.now(), models: ['lab/cheap'] };
    await fillRequestLog(stack.databaseUrl, { ...filling, organizationId, rows: 400 });
    await fillRequestLog(stack.databaseUrl, { ...filling, organizationId: other.organizationId, rows: 900 });
    const password = await stack.createUser('member@acme.example', { organizationId, role: 'member' });
    member = await openPage(stack);
    ({ page } = member);
    await signIn(page, 'member@acme.example', password);
  });

  afterAll(() => stack?.close());

  showLogsOnFailure(() => stack);

  const names = () => page.getByRole('table', { name: 'Models' }).locator('tbody code').allInnerTexts();

  test('models are sorted by what they cost, and a click opens one', async () => {
    await page.goto(`/o/${organizationId}/models`);
    await page.getByRole('link', { name: 'dear' }).waitFor();
    expect(await names()).toEqual(['dear', 'lab/cheap']);
    await page.getByRole('button', { name: 'Input', exact: true }).click();
    await expect.poll(names).toEqual(['lab/cheap', 'dear']);
    await page.getByRole('button', { name: 'Output', exact: true }).click();
    await expect.poll(names).toEqual(['dear', 'lab/cheap']);
    await expectGoodLooks(page, 'models');
    await page.getByRole('row').filter({ hasText: 'lab/cheap' }).getByText('$30.00').click();
    await page.getByRole('heading', { name: 'lab/cheap', level: 1 }).waitFor();
  });

  test('a model has its prices, its snippets, and the figures of this organization alone', async () => {
    await page.getByText('Service tier flex').waitFor();
    await page.getByRole('heading', { name: 'Requests of Acme' }).waitFor();
    const requests = page.getByRole('button', { name: /^Requests 4\d\d|^Requests 3\d\d/ });
    await requests.waitFor();
    for (const figure of [/^First token, p95 /, /^Tokens a second \d/, /^Errors \d+ .*%/])
      await page.getByRole('button', { name: figure }).waitFor();
    expect(await page.getByRole('tabpanel').innerText()).toContain('"model":"lab/cheap"');
    await expectGoodLooks(page, 'model');
    await page.getByRole('link', { name: 'Show requests' }).click();
    await page.getByText('Model: lab/cheap').waitFor();
  });

  test('Ctrl-K finds it, and one that is gone says so', async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('cheap model');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'lab/cheap', level: 1 }).waitFor();
    await page.goto(`/o/${organizationId}/model?model=gone`);
    await page.getByText('The gateway has no such model').waitFor();
    expect(member.complaints()).toEqual([]);
  });
});
