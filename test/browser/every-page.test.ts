import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient } from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { jsonAnswer } from '../provider/acts.ts';
import { barriers, barriersWhenStill } from './barriers.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack } from './dashboard-stack.ts';

/**
 * Every address of the page, as an operator sees it, who sees them all. `$organization` is filled
 * in, and so is `$poor`, whose balance is 0.01 USD.
 */
const ADDRESSES = [
  '/o/$organization/overview',
  '/o/$organization/keys',
  '/o/$organization/requests',
  '/o/$organization/usage',
  '/o/$organization/credits',
  '/o/$poor/credits',
  '/o/$organization/models',
  '/o/$organization/playground',
  '/o/$organization/members',
  '/o/$organization/alerts',
  '/o/$organization/audit',
  '/errors',
  '/account',
  '/operator',
  '/operator/organizations',
  '/operator/users',
  '/operator/costs?by=organization&daily=yes&show=margin',
  '/operator/costs',
  '/operator/mapping',
  '/operator/system',
  '/operator/alerts',
  '/operator/audit',
  '/no-such-page',
];

/** Text that a page has besides its own, by address. */
const SAYS: Readonly<Record<string, string | RegExp>> = {
  '/o/$organization/requests': '4,990 refused requests are not listed.',
  '/o/$organization/credits': 'the longest output of every model',
  '/o/$poor/credits': 'Largest output limit',
  '/operator/mapping': /^Shut down Oct 23, 2026$/,
  '/o/$organization/models': 'Service tier flex, prompts above 200,000 tokens',
};

const PRICE_TABLE = {
  ...{ input: 1.25, cached_input: 0.125, cache_write: 1.5625, cache_write_1h: 2.5, output: 10 },
  above: [{ input_tokens: 200_000, input: 2.5, output: 15 }],
  service_tiers: { flex: { input: 0.625, output: 5, above: [{ input_tokens: 200_000, input: 1, output: 8 }] } },
};

const PHONE = { name: 'a phone, dark', width: 360, colorScheme: 'dark' } as const;
const DESKTOP = { name: 'a desktop, light', width: 1280, colorScheme: 'light' } as const;
/** Each takes 10 s of CPU; a narrow page breaks first. */
const LOOKS = process.env.CI === 'true' ? [PHONE, DESKTOP] : [PHONE];

requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let poorId: string;
  let key: string;
  let password: string;

  beforeAll(async () => {
    // Cheaper and larger than in the model catalogue, and gone.
    const outdated = { targets: [{ provider: 'openai', model: 'gpt-3.5-turbo' }] };
    const models = { small: {}, large: { usd_per_million_tokens: PRICE_TABLE }, outdated };
    stack = await startDashboardStack(inject('postgresSocketDir'), models, ['openai']);
    ({ organizationId, key } = await stack.operator.customer({ organization: { name: 'Acme' } }));
    ({ organizationId: poorId } = await stack.operator.customer({ credit: '0.01' }));
    await fillRequestLog(stack.databaseUrl, { organizationId, rows: 2_000, days: 7, models: ['small', 'large'] });
    await sql(
      stack.databaseUrl,
      `insert into left_out_requests values ('${organizationId}', ${Math.floor(Date.now() / 60_000)}, 'key-1', '', 'key_revoked', 401, 'test', 4990)`,
    );
    await fillCosts(stack.databaseUrl, organizationId);
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
        await page.goto(address.replace('$organization', organizationId).replace('$poor', poorId));
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('[aria-busy="true"], [class*="skeleton"]').first().waitFor({ state: 'detached' });
        const says = SAYS[address];
        if (says !== undefined) await page.getByText(says).first().waitFor();
        for (const barrier of await barriers(page)) found.push(`${address}: ${barrier}`);
        if (await overflows(page)) found.push(`${address}: is wider than the screen`);
      }
      expect([...found, ...complaints()]).toEqual([]);
    });

    test('a charged request says how its cost was made, without a barrier', async () => {
      const usage = {
        ...{ prompt_tokens: 1000, completion_tokens: 77 },
        prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
        cache_creation: { ephemeral_1h_input_tokens: 101 },
      };
      stack.provider.script('large', jsonAnswer({ usage }));
      const client = gatewayClient(stack.origin, key);
      const { headers } = await client.chat({ model: 'large', max_tokens: 1000, service_tier: 'flex' });
      client.close();
      const charged = `select l.id from request_log l join generations g on g.id = l.generation_id where g.id = '${headers['x-generation-id']}'`;
      await expect.poll(() => sql(stack.databaseUrl, charged)).toHaveLength(1);
      const [{ id } = { id: '' }] = await sql<{ id: string }>(stack.databaseUrl, charged);
      const { page, complaints } = await openPage(stack, { width, colorScheme });
      await signIn(page, 'operator@gateway.example', password);
      await page.goto(`/o/${organizationId}/requests?open=${id}`);
      const drawer = page.getByRole('dialog');
      await drawer.getByText('Price entry: Service tier flex.').waitFor();
      const lines = await drawer.getByRole('table').getByRole('row').allInnerTexts();
      // 100 uncached, 600 cached, 300 written at 0.625; 77 at 5.
      expect(lines.map((line) => line.split(/\s*\t\s*/))).toEqual([
        ['Tokens of', 'Number', 'Per million', 'Amount'],
        ['Uncached input', '100', '$0.625', '$0.0000625'],
        ['Cached input', '600', '$0.625', '$0.000375'],
        ['Cache writes, 5 min', '199', '$0.625', '$0.000124375'],
        ['Cache writes, 1 h', '101', '$0.625', '$0.000063125'],
        ['Output', '77', '$5.00', '$0.000385'],
        ['Sum', '$0.00101'],
      ]);
      expect([...(await barriersWhenStill(page)), ...complaints()]).toEqual([]);
    });
  });
});

/** Charges of ten days: `small` with costs, above the revenue now and then, `large` without. */
async function fillCosts(databaseUrl: string, organizationId: string): Promise<void> {
  const at = `now() - interval '1 day' * n - interval '1 minute' * m`;
  await sql(
    databaseUrl,
    `insert into generations (id, organization_id, key_id, day, model, provider, provider_model, created_at, streamed, cancelled, prompt_tokens,
       completion_tokens, cached_tokens, reasoning_tokens, cache_write_tokens, cache_write_1h_tokens, usage_counted, input_pico_usd,
       cached_input_pico_usd, output_pico_usd, cache_write_pico_usd, cache_write_1h_pico_usd, cost_nano_usd, hold_nano_usd, latency_ms,
       generation_time_ms)
     select id_floor('gen', ${at}), '${organizationId}', 'key-1', (${at})::date, case when m < 5 then 'small' else 'large' end, 'fake', 'm', ${at}, false,
       false, 10, 10, 0, 0, 0, 0, false, 0, 0, 0, 0, 0, 1000000 * (m + n), 1000000 * (m + n), 1, 1
     from generate_series(1, 10) n, generate_series(1, 8) m`,
  );
  await sql(
    databaseUrl,
    `insert into generation_costs select id, case when extract(day from day)::integer % 4 = 0 then 3 * cost_nano_usd else cost_nano_usd * 7 / 10 end
     from generations where model = 'small'`,
  );
}

/** The page, or a fact of it, which its card would cut off. */
function overflows(page: Page): Promise<boolean> {
  const isWide = 'document.documentElement.scrollWidth > window.innerWidth';
  const isCut = `[...document.querySelectorAll('dd')].some((fact) => fact.scrollWidth > fact.clientWidth)`;
  return page.evaluate(`${isWide} || ${isCut}`) as Promise<boolean>;
}
