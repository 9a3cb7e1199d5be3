import type { Page } from 'playwright-core';
import { createGate } from '../provider/gate.ts';

/**
 * Ends the session, and then acts. Until the act, the page's own GET requests are held back,
 * because their refusal would open the password dialog or leave the page. Requests in flight are
 * not held back, so load the page completely first.
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
