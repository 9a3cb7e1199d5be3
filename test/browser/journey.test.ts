import OpenAI, { APIError } from 'openai';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { copyWith } from './clipboard.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack, type WatchedPage } from './dashboard-stack.ts';
import { expectGoodLooks } from './looks.ts';

/**
 * An owner's first hour and an operator's changes to the organization, in a real browser and
 * through a real Envoy. The tests run in order.
 */
requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let owner: WatchedPage;
  let client: OpenAI;

  beforeAll(async () => {
    stack = await startDashboardStack(inject('postgresSocketDir'), {
      small: { capabilities: ['tools'], usd_per_million_tokens: { input: 1, output: 2 } },
      large: { usd_per_million_tokens: { input: 10, output: 20 } },
    });
    ({ organizationId } = await stack.operator.customer({
      credit: '10',
      organization: { name: 'Acme', requestsPerMinute: 1000, dailyBudgetNanoUsd: 5_000_000_000n },
    }));
    const password = await stack.createUser('owner@acme.example', { organizationId, role: 'owner' });
    owner = await openPage(stack);
    await signIn(owner.page, 'owner@acme.example', password);
  });

  afterAll(() => stack?.close());

  showLogsOnFailure(() => stack);

  const complete = (model: string) =>
    client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] });

  test("signing in leads to the overview of the owner's organization", async () => {
    const { page } = owner;
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/o/${organizationId}/overview`);
    await page.getByText('Available balance').waitFor();
    await page.getByText('$10.00').first().waitFor();
  });

  test('a new key with every restriction is shown once, and works at once through Envoy', async () => {
    const { page } = owner;
    await goTo(page, 'API keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create an API key' });
    await dialog.getByLabel('Name').fill('Production');
    for (const scope of await dialog.getByRole('checkbox').all()) await scope.check();
    await section(dialog, 'Models');
    await dialog.getByLabel('Allowed models').fill('small');
    await page.getByRole('option', { name: /small/ }).click();
    await dialog.getByLabel('Name').click();
    await section(dialog, 'Addresses');
    await dialog.getByLabel('Allowed addresses').fill('127.0.0.0/8');
    await dialog.getByLabel('Allowed addresses').press('Enter');
    await section(dialog, 'Expiry');
    await dialog.getByText('30 days').click();
    await section(dialog, 'Limits');
    await dialog.getByLabel('Requests per minute').fill('100');
    await dialog.getByLabel('Tokens per minute').fill('1000000');
    await dialog.getByLabel('Daily budget').fill('2');
    await dialog.getByRole('button', { name: 'Create key' }).click();

    const shown = page.getByRole('dialog', { name: /Your new key/ });
    const secret = (
      await shown
        .locator('code', { hasText: /^sk-gw-/ })
        .first()
        .innerText()
    ).trim();
    expect(secret).toMatch(/^sk-gw-[\w-]{43}$/);
    expect(await page.locator('button:focus').innerText()).toBe('Copy key');
    expect(await copyWith(shown.getByRole('button', { name: /Copy/ }).first())).toBe(secret);
    await shown.getByRole('button', { name: 'Done, I saved it' }).click();
    await shown.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);

    client = new OpenAI({ baseURL: `${stack.origin}/v1`, apiKey: secret, maxRetries: 0 });
    const answer = await complete('small');
    expect(answer.choices[0]?.message.content).toBe('Hello from the provider.');
    expect(await failure(complete('large'))).toBe('403 model_not_allowed');
  });

  test("the key's requests appear in the log with their costs and reasons of refusal", async () => {
    const { page } = owner;
    await goTo(page, 'Requests');
    const rows = page.getByRole('table').getByRole('row');
    await rows.filter({ hasText: 'model_not_allowed' }).waitFor();
    const served = rows.filter({ hasText: 'small' }).first();
    await served.waitFor();
    await served.click();
    const drawer = page.getByRole('dialog');
    await drawer.getByText('127.0.0.1').first().waitFor();
    await drawer.getByText(/^gen-/).first().waitFor();
    await page.keyboard.press('Escape');
  });

  test("the key's requests appear in the charts of the overview", async () => {
    const { page } = owner;
    await page.goto(`/o/${organizationId}/overview`);
    await page.getByText('$0.00002').first().waitFor({ timeout: 30_000 });
    await page.getByText('small').first().waitFor();
  });

  test("the tab shows the organization's name, and Ctrl K finds a key by a part of its name", async () => {
    const { page } = owner;
    await expect.poll(() => page.title()).toBe('Overview · Acme · Inference Gateway');
    await page.keyboard.press('?');
    await page.getByText('Go to a page, view, key, model, organization or request').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('prod');
    await page.getByRole('option', { name: /Production/ }).waitFor();
    expect(await barriersWhenStill(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname.endsWith('/keys') && url.searchParams.has('key'));
    const drawer = page.getByRole('dialog', { name: 'Production' });
    await drawer.waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });

  test('an edit of the key applies to the next request', async () => {
    const { page } = owner;
    await goTo(page, 'API keys');
    await act(page, 'Production', 'Edit');
    const dialog = page.getByRole('dialog', { name: /^Edit/ });
    await section(dialog, 'Models');
    await dialog.getByLabel('Allowed models').fill('large');
    await page.getByRole('option', { name: /large/ }).click();
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await complete('large')).object).toBe('chat.completion');
  });

  test('an operator suspends and resumes the organization, and then adds credit', async () => {
    const password = await stack.createUser('operator@gateway.example', 'operator');
    const { page, complaints } = await openPage(stack);
    await signIn(page, 'operator@gateway.example', password);
    await page.goto(`/o/${organizationId}/overview`);
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Suspend/ })
      .click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect(await failure(complete('small'))).toBe('403 org_suspended');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Resume/ })
      .click();
    await page.getByRole('button', { name: 'Suspend' }).waitFor();
    expect((await complete('small')).object).toBe('chat.completion');

    await page
      .getByRole('button', { name: /credit/i })
      .first()
      .click();
    const credit = page.getByRole('dialog');
    await credit.getByLabel('Amount').fill('25');
    await credit.getByLabel('Note').fill('Invoice 17');
    await credit.getByLabel('Note').press('Enter');
    await credit.waitFor({ state: 'detached' });
    expect(await stack.operator.balance(organizationId)).toBeGreaterThan(34.9);
    expect(complaints()).toEqual([]);
  });

  test('the owner sets billing data beside the effective limits', async () => {
    const { page } = owner;
    await goTo(page, 'Settings');
    await page.getByLabel('Legal name').fill('Acme GmbH');
    await page.getByLabel('VAT or tax ID').fill('DE123456789');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    await page.getByText('Requests per minute').waitFor();
    await expectGoodLooks(page, 'settings');
  });

  test("after its revocation the key's next request is refused", async () => {
    const { page } = owner;
    await goTo(page, 'API keys');
    await act(page, 'Production', 'Revoke');
    await page
      .getByRole('dialog', { name: /^Revoke/ })
      .getByRole('button', { name: 'Revoke key' })
      .click();
    await page.getByRole('dialog', { name: /^Revoke/ }).waitFor({ state: 'detached' });
    expect(await failure(complete('small'))).toBe('401 key_revoked');
  });

  test('the audit log has all these changes', async () => {
    const { page } = owner;
    await goTo(page, 'Audit log');
    for (const words of [/revoked/i, /suspended/i, /Added \$25\.00 to/, /Production/, 'VAT or tax ID'])
      await page.getByRole('table').getByText(words).first().waitFor();
  });

  test('the audit log shows a change between Hebrew names from the left, like every other', async () => {
    const { page } = owner;
    const submitted = async (name: string, button: string) => {
      await page.getByRole('textbox', { name: 'Name' }).fill(name);
      await page.getByRole('dialog').getByRole('button', { name: button }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    const edit = async (item: string) => {
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    await goTo(page, 'Requests');
    await edit('Save this view…');
    await submitted('ראשון', 'Save view');
    await edit('Edit this view…');
    await submitted('שני', 'Rename view');
    await goTo(page, 'Audit log');
    await page.getByRole('listitem').filter({ hasText: 'ראשון' }).waitFor();
    const places = await page.evaluate<number[]>(`(() => {
      const line = [...document.querySelectorAll('li')].find((one) => one.textContent.includes('ראשון'));
      const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      const range = document.createRange();
      const places = [];
      while (texts.nextNode()) {
        range.selectNodeContents(texts.currentNode);
        places.push(range.getBoundingClientRect().left);
      }
      return places;
    })()`);
    expect(places.length).toBeGreaterThan(4);
    expect(places.toSorted((a, b) => a - b)).toEqual(places);
  });

  test('no page violated the content security policy or logged an error', () => {
    expect(owner.complaints()).toEqual([]);
  });
});

/** Resolves with the status and code of the error. */
async function failure(answer: Promise<unknown>): Promise<string> {
  try {
    await answer;
    return 'no failure';
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return `${error.status} ${error.code}`;
  }
}

async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).first().click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
}

/** Opens a section of the form that is closed at first. */
async function section(dialog: Locator, title: string): Promise<void> {
  const summary = dialog.locator('summary', { hasText: title });
  if ((await summary.locator('..').getAttribute('open')) === null) await summary.click();
}

async function act(page: Page, key: string, action: string): Promise<void> {
  await page.getByRole('row').filter({ hasText: key }).getByRole('button').last().click();
  await page.getByRole('menuitem', { name: action }).click();
}
