import type { Page } from 'playwright-core';
import { createGate } from '../provider/gate.ts';

/**
 * Ends the session, and then acts. What the page asks by itself waits meanwhile: its refusal would
 * ask for the password, or leave the page, before the act. A question that is on its way already
 * does not wait: load the page to its end first.
 */
export async function actAfterEnd(page: Page, end: () => Promise<unknown>, act: () => Promise<void>): Promise<void> {
  const gate = createGate();
  await page.route('**/api/**', async (route) => {
    if (route.request().method() === 'GET') await gate.pass();
    await route.fallback();
  });
  await end();
  await act();
  gate.open();
  await page.unrouteAll({ behavior: 'wait' });
}
