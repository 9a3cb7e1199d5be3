import type { Locator } from 'playwright-core';

/**
 * Presses a button that copies, and reads what it copied. The browser copies after the click, and
 * the page says so for two seconds, which a slow test would miss if it looked only afterwards.
 */
export async function copyWith(button: Locator): Promise<string> {
  const page = button.page();
  const done = page.getByText(/^Copied ./).waitFor({ state: 'attached' });
  await Promise.all([done, button.click()]);
  return String(await page.evaluate('navigator.clipboard.readText()'));
}
