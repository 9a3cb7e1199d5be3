import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { barriers } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack } from './dashboard-stack.ts';

/**
 * Every address of the page, as an operator sees it, who sees them all. `$organization` is filled
 * in.
 */
const ADDRESSES = [
  '/o/$organization/overview',
  '/o/$organization/keys',
  '/o/$organization/requests',
  '/o/$organization/usage',
  '/o/$organization/credits',
  '/o/$organization/models',
  '/o/$organization/members',
  '/o/$organization/audit',
  '/errors',
  '/account',
  '/operator/organizations',
  '/operator/users',
  '/operator/mapping',
  '/operator/system',
  '/operator/audit',
  '/no-such-page',
];

const PHONE = { name: 'a phone, dark', width: 360, colorScheme: 'dark' } as const;
const DESKTOP = { name: 'a desktop, light', width: 1280, colorScheme: 'light' } as const;
/** Each takes 10 s of CPU; a narrow page breaks first. */
const LOOKS = process.env.CI === 'true' ? [PHONE, DESKTOP] : [PHONE];

requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let password: string;

  beforeAll(async () => {
    // Cheaper and larger than in the model catalogue, and gone.
    const outdated = { targets: [{ provider: 'openai', model: 'gpt-3.5-turbo' }] };
    stack = await startDashboardStack(inject('postgresSocketDir'), { small: {}, large: {}, outdated }, ['openai']);
    ({ organizationId } = await stack.operator.customer({ organization: { name: 'Acme' } }));
    await fillRequestLog(stack.databaseUrl, { organizationId, rows: 2_000, days: 7, models: ['small', 'large'] });
    await sql(
      stack.databaseUrl,
      `insert into left_out_requests values ('${organizationId}', ${Math.floor(Date.now() / 60_000)}, 'key-1', '', 'key_revoked', 401, 'test', 4990)`,
    );
    password = await stack.createUser('operator@gateway.example', 'operator');
  });

  afterAll(() => stack?.close());

  showLogsOnFailure(() => stack);

  describe.each(LOOKS)('on $name', ({ width, colorScheme }) => {
    test('no page has a barrier, moves sideways or complains', { timeout: 180_000 }, async () => {
      const { page, complaints } = await openPage(stack, { width, colorScheme });
      await page.goto('/sign-in');
      await page.getByRole('heading', { level: 1 }).waitFor();
      const found: string[] = (await barriers(page)).map((barrier) => `/sign-in: ${barrier}`);
      await signIn(page, 'operator@gateway.example', password);
      for (const address of ADDRESSES) {
        await page.goto(address.replace('$organization', organizationId));
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('[aria-busy="true"], [class*="skeleton"]').first().waitFor({ state: 'detached' });
        if (address.endsWith('/requests')) await page.getByText('4,990 refused requests are not listed.').waitFor();
        if (address.endsWith('/mapping')) await page.getByText(/^Shut down Oct 23, 2026$/).waitFor();
        for (const barrier of await barriers(page)) found.push(`${address}: ${barrier}`);
        if (await overflows(page)) found.push(`${address}: is wider than the screen`);
      }
      expect([...found, ...complaints()]).toEqual([]);
    });
  });
});

function overflows(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > window.innerWidth') as Promise<boolean>;
}
