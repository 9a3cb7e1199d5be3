import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient } from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { createGate } from '../provider/gate.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { copyWith } from './clipboard.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';

/** A developer's first steps: choosing a model and connecting a client. */
requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let key: string;
  let member: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    const models = {
      dear: { usd_per_million_tokens: { input: 9, cached_input: 1, output: 20 }, context_window: 500_000 },
      'lab/cheap': {
        usd_per_million_tokens: { input: 0.5, output: 30, service_tiers: { flex: { input: 0.25, output: 15 } } },
        capabilities: ['tools', 'vision'],
        reasoning_efforts: ['low', 'high'],
      },
    };
    stack = await startDashboardStack(inject('postgresSocketDir'), models, [], { apis: { responses: true } });
    ({ organizationId, key } = await stack.operator.customer({ credit: '10', organization: { name: 'Acme' } }));
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

  test('models can be sorted by price, and a click opens one', async () => {
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

  test("a model's page has its prices, snippets, and figures of this organization only", async () => {
    await page.getByText('Service tier flex').waitFor();
    await page.getByRole('heading', { name: 'Requests of Acme' }).waitFor();
    const requests = page.getByRole('button', { name: /^Requests 4\d\d|^Requests 3\d\d/ });
    await requests.waitFor();
    for (const figure of [/^First token, p95 /, /^Tokens per second \d/, /^Errors \d+ .*%/])
      await page.getByRole('button', { name: figure }).waitFor();
    await expect.poll(() => page.getByRole('tabpanel').innerText()).toContain('"model":"lab/cheap"');
    await expectGoodLooks(page, 'model');
    await page.getByRole('link', { name: 'Show requests' }).click();
    await page.getByText('Model: lab/cheap').waitFor();
  });

  test('the focus stays on the button that loads older requests', async () => {
    await page.goto(`/o/${organizationId}/requests`);
    const rows = page.getByRole('table').locator('tbody tr');
    const more = page.getByRole('button', { name: 'Load older' });
    await more.press('Enter');
    await expect.poll(() => rows.count()).toBeGreaterThan(50);
    expect(await page.locator(':focus').innerText()).toBe('Load older');
  });

  test('a member sees the limits, and an organization that does not exist has no pages', async () => {
    await page.getByRole('link', { name: 'Limits' }).click();
    await page.getByRole('heading', { name: 'Limits', level: 1 }).waitFor();
    await page.getByText('Concurrency').waitFor();
    await expectGoodLooks(page, 'limits');
    await page.goto('/o/org-nonsense/models');
    await page.getByRole('link', { name: 'To the overview' }).waitFor();
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    await page.getByRole('link', { name: 'To the overview' }).click();
    await page.waitForURL((url) => url.pathname === `/o/${organizationId}/overview`);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  });

  test('Ctrl-K finds a model, and the page of a removed model says that it is gone', async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('cheap model');
    await page.getByRole('option', { name: 'lab/cheap' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'lab/cheap', level: 1 }).waitFor();
    await page.goto(`/o/${organizationId}/model?model=gone`);
    await page.getByText('The gateway has no such model').waitFor();
  });

  const send = async (secret: string) => {
    const client = gatewayClient(stack.origin, secret);
    await client.chat({ model: 'dear', max_tokens: 10 });
    client.close();
  };

  test('the page shows the documented code for a client, and notices its first request', async () => {
    const gate = createGate();
    await page.route(/\/requests$/, (route) => gate.pass().then(() => route.fallback()));
    await page.getByRole('navigation').getByRole('link', { name: 'Connect' }).click();
    // A request before the page has loaded the newest one would not be noticed.
    await gate.waitFor(1);
    expect(await page.getByText('Waiting for a request').count()).toBe(0);
    gate.open();
    await page.getByText('Waiting for a request').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    const client = page.getByLabel('Client');
    await client.locator('option', { hasText: 'Codex' }).waitFor({ state: 'attached' });
    expect(await client.locator('option', { hasText: 'Claude Code' }).count()).toBe(0);
    await client.selectOption('LlamaIndex (Python)');
    await page.getByText('OpenAILike(').waitFor();
    await expect
      .poll(() => page.getByRole('tabpanel').first().innerText())
      .toContain(
        `GATEWAY_URL='${stack.origin}/v1'\nexport GATEWAY_KEY='YOUR_API_KEY'\nexport GATEWAY_MODEL='lab/cheap'`,
      );
    await expectGoodLooks(page, 'connect');
    await send(key);
    await page.getByText('Connected').waitFor();
    await expectGoodLooks(page, 'connected');
    await page.getByRole('link', { name: 'Show the request' }).click();
    await page.getByRole('dialog').getByText('dear').first().waitFor();
  });

  test('a new key is shown once, in the code of each client, and its own first request is confirmed', async () => {
    await page.goto(`/o/${organizationId}/keys?dialog=create`);
    await page.getByRole('dialog').getByLabel('Name').fill('Mine');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    await dialog.getByText('Waiting for this key').waitFor();
    const secret = await dialog.locator('code', { hasText: 'sk-gw-' }).first().innerText();
    await expect.poll(() => dialog.getByRole('tabpanel').innerText()).toContain(secret);
    await dialog.getByLabel('Client').selectOption('opencode');
    await expect.poll(() => dialog.getByRole('tabpanel').innerText()).toContain(`export GATEWAY_KEY='${secret}'`);
    await send(key);
    await expectGoodLooks(page, 'new-key');
    expect(await dialog.getByText('Connected').count()).toBe(0);
    await send(secret);
    await dialog.getByText('A request with Mine has arrived.').waitFor();
    await dialog.getByLabel('Client').selectOption('LlamaIndex (Python)');
    await copyWith(dialog.getByRole('button', { name: 'Copy LlamaIndex (Python) example' }));
    await dialog.getByRole('button', { name: 'Done, I saved it' }).click();
    await page.getByText('You have not copied the key.').waitFor();
    expect(member.complaints()).toEqual([]);
  });
});
