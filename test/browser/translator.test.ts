import { beforeAll, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { opened } from '../harness/opened.ts';
import { requirement } from '../harness/requirement.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { openPage, signIn, startDashboardStack } from './dashboard-stack.ts';

/** How a translator puts its `<font>` in the place of a text node. */
const WAYS = {
  'replaces texts, as Chrome does': 'font.append(text.data); text.replaceWith(font);',
  'inserts the translation and removes the text': 'font.append(text.data); text.before(font); text.remove();',
  'moves texts into its elements': 'text.before(font); font.append(text);',
};

/** Translates every text, now and whenever the page changes. */
const translator = (put: string) => `
  const translate = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      if (text.data.trim() === '' || text.parentNode.closest('font, script, style, option, textarea')) continue;
      const font = document.createElement('font');
      ${put}
    }
  };
  addEventListener('DOMContentLoaded', () =>
    new MutationObserver(translate).observe(document.body, { childList: true, subtree: true, characterData: true }));`;

/** A browser translates the page for its user. */
requirement(NO_CHROMIUM, () => {
  const stack = opened(() => startDashboardStack(inject('postgresSocketDir'), { small: {} }));
  let organizationId: string;
  let password: string;
  const EMAIL = 'operator@gateway.example';

  beforeAll(async () => {
    ({ organizationId } = await stack.operator.customer({ organization: { name: 'Acme' } }));
    password = await stack.createUser(EMAIL, 'operator');
  });

  showLogsOnFailure(() => stack);

  test.each(Object.entries(WAYS))('a translator that %s breaks no page', async (_, put) => {
    const { page, complaints } = await openPage(stack);
    await page.addInitScript(translator(put));
    await signIn(page, EMAIL, password);
    const visit = async (path: string, heading: string) => {
      await page.goto(path);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      await page.locator('[aria-busy="true"], [class*="skeleton"]').first().waitFor({ state: 'detached' });
    };
    // These pages put other elements in the place of texts.
    await visit('/operator/mapping', 'Model mapping');
    await page.getByText('loaded').waitFor();
    expect(await page.getByText('Which provider serves which model.').count()).toBe(0);
    await visit(`/o/${organizationId}/connect`, 'Connect');
    // The text of this button is beside its icon.
    await visit(`/o/${organizationId}/requests`, 'Requests');
    const time = page.getByRole('button', { name: 'Time:' });
    await time.click();
    await page.getByRole('button', { name: 'Last 30 days' }).click();
    await expect.poll(() => time.innerText()).toBe('Last 30 days');
    expect(complaints()).toEqual([]);
    await page.context().close();
  });
});
