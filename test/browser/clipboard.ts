import type { Locator } from 'playwright-core';

/**
 * Clicks a button that copies, and reads the clipboard. The browser copies after the click, and the
 * page confirms it for two seconds. The wait begins before the click, so that a slow test does not
 * miss it.
 */
export async function copyWith(button: Locator): Promise<string> {
  const page = button.page();
  const done = page.getByText(/^Copied ./).waitFor({ state: 'attached' });
  await Promise.all([done, button.click()]);
  return String(await page.evaluate('navigator.clipboard.readText()'));
}
