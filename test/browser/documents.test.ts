import { beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack } from './dashboard-stack.ts';
import { expectGoodLooks, overflows } from './looks.ts';

requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));
  let organizationId: string;

  beforeAll(async () => {
    ({ organizationId } = await stack.operator.customer());
  });

  showLogsOnFailure(() => stack);

  test('a page links to its chapter, and the navigation to all documents', async () => {
    const { page, complaints } = await openPage(stack);
    const password = await stack.createUser('owner@acme.example', { organizationId, role: 'owner' });
    await signIn(page, 'owner@acme.example', password);
    await page.goto(`/o/${organizationId}/alerts`);
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Learn more about Alerts' }).click();
    const chapter = await opened;
    await chapter.getByRole('heading', { name: 'Alerts', exact: true }).waitFor();
    expect(await chapter.locator(':target').innerText()).toBe('Alerts');
    await chapter.close();

    const main = page.getByRole('navigation', { name: 'Main' });
    await main.getByRole('link', { name: 'Documentation' }).click();
    await page.getByRole('heading', { level: 1, name: 'Clients' }).waitFor();
    const documents = page.getByRole('navigation', { name: 'Documentation' });
    expect(await documents.getByRole('link').allInnerTexts()).toEqual(['Clients', 'API', 'Errors', 'OpenAPI']);
    await page.getByRole('main').getByRole('link', { name: 'errors.md' }).click();
    await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor();
    await expectGoodLooks(page, 'document-errors');
    await documents.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Idempotency' }).click();
    expect(await page.locator(':target').innerText()).toBe('Idempotency');
    await page.setViewportSize({ width: 390, height: 900 });
    await page.getByText('On this page').click();
    await page.getByRole('link', { name: 'Order of checks' }).last().click();
    expect(new URL(page.url()).hash).toBe('#order-of-checks');

    const names = ['clients', 'api', 'errors', 'operating', 'interface', 'providers', 'observability', 'kubernetes'];
    for (const name of names) {
      await page.goto(`/docs/${name}.html`);
      expect(await overflows(page), name).toEqual([]);
    }

    await page.getByRole('link', { name: 'Dashboard' }).first().click();
    await page.waitForURL(/overview/);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Page/ }).fill('documentation');
    await page.getByRole('option', { name: /^Documentation/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs\/clients\.html$/);
    expect(complaints()).toEqual([]);
  });

  test('a text does not move while the rest of it is loaded', async () => {
    const { page } = await openPage(stack);
    await page.setViewportSize({ width: 768, height: 900 });
    await page.goto('/docs/errors.html');
    const title = page.getByRole('heading', { level: 1 });
    const whole = (await title.boundingBox())?.y;
    await page.evaluate(`document.querySelectorAll('main > :not(h1)').forEach((part) => part.remove())`);
    expect((await title.boundingBox())?.y).toBe(whole);
  });
});
