import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient } from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';
import { jsonAnswer } from '../provider/acts.ts';
import { NO_CHROMIUM } from './chromium.ts';
import { type DashboardStack, openPage, signIn, startDashboardStack } from './dashboard-stack.ts';
import { expectGoodLooks, flaws, keepPicture, overflows, shifts, watchShifts } from './looks.ts';

/** Addresses that work without a session. */
const OUTSIDE = [
  ...['/sign-in', '/forgotten-password', '/sign-in/callback', '/link'],
  ...['clients', 'errors', 'scaling'].map((name) => `/docs/${name}.html`),
];

/**
 * Every other address of the page, all of which an operator can open. `$organization` and `$poor`,
 * whose balance is 0.01 USD, are replaced by ids.
 */
const ADDRESSES = [
  '/o/$organization/overview',
  '/o/$organization/keys',
  '/o/$organization/requests',
  '/o/$organization/credits',
  '/o/$poor/credits',
  '/o/$organization/models',
  '/o/$organization/model?model=large',
  '/o/$organization/connect',
  '/o/$organization/playground',
  '/o/$organization/members',
  '/o/$organization/alerts',
  '/o/$organization/settings',
  '/o/$organization/audit',
  '/errors',
  '/account',
  '/operator',
  '/operator/organizations',
  '/operator/users',
  '/operator/costs?by=organization&show=margin',
  '/operator/costs',
  '/operator/mapping',
  '/operator/system',
  '/operator/alerts',
  '/operator/audit',
  '/no-such-page',
];

/** Further text that a page must show, by address. */
const SAYS: Readonly<Record<string, string | RegExp>> = {
  '/o/$organization/requests': '4,990 refused requests are not listed.',
  '/o/$poor/credits': 'Largest output limit',
  '/o/$organization/playground': /Balance of/,
  '/operator/mapping': /^Shut down Oct 23, 2026$/,
  '/o/$organization/model?model=large': 'Service tier flex, prompts above 200,000 tokens',
};

const PRICE_TABLE = {
  ...{ input: 1.25, cached_input: 0.125, cache_write: 1.5625, cache_write_1h: 2.5, output: 10 },
  above: [{ input_tokens: 200_000, input: 2.5, output: 15 }],
  service_tiers: { flex: { input: 0.625, output: 5, above: [{ input_tokens: 200_000, input: 1, output: 8 }] } },
};

/** A word that is wider than a phone. */
const LONG_NAME = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbaugesellschaft';
const PHONE = 390;
/** Width at which nothing may overflow either. */
const SMALL_PHONE = 360;
const isThorough = process.env.CI === 'true' || process.env.PICTURES !== undefined;
/** Each width takes 10 s of CPU. A narrow page breaks first. */
const WIDTHS = isThorough ? [PHONE, 768, 1280, 2560] : [PHONE];
const SCHEMES = isThorough ? (['light', 'dark'] as const) : (['dark'] as const);

requirement(NO_CHROMIUM, () => {
  let stack: DashboardStack;
  let organizationId: string;
  let poorId: string;
  let key: string;
  let password: string;

  beforeAll(async () => {
    // A model that is cheaper and larger than in the catalogue, by which it has been shut down.
    const outdated = { targets: [{ provider: 'openai', model: 'gpt-3.5-turbo' }] };
    const embedder = { capabilities: ['embeddings'], usd_per_million_tokens: { input: 0.02 } };
    const models = { small: {}, large: { usd_per_million_tokens: PRICE_TABLE }, outdated, embedder };
    stack = await startDashboardStack(inject('postgresSocketDir'), models, ['openai'], {
      mail: { smtp_url: 'smtp://127.0.0.1:9', from: 'noreply@gateway.example' },
    });
    ({ organizationId, key } = await stack.operator.customer({ organization: { name: LONG_NAME } }));
    const expiring = { name: 'Expires soon', expiresAtMs: Date.now() + 86_400_000 };
    await stack.operator.addKey(organizationId, { key: expiring });
    ({ organizationId: poorId } = await stack.operator.customer({ credit: '0.01' }));
    await fillRequestLog(stack.databaseUrl, { organizationId, rows: 2_000, days: 7, models: ['small', 'large'] });
    await sql(
      stack.databaseUrl,
      `insert into omitted_requests values ('${organizationId}', ${Math.floor(Date.now() / 60_000)}, 'key-1', '', 'key_revoked', 401, 'test', 4990)`,
    );
    await fillCosts(stack.databaseUrl, organizationId);
    password = await stack.createUser('operator@gateway.example', 'operator');
  });

  afterAll(() => stack?.close());
  showLogsOnFailure(() => stack);

  test.each(WIDTHS)(
    'no page has a barrier, overflows, shifts or logs an error at %i pixels',
    { timeout: 240_000 },
    async (width) => {
      const { page, complaints } = await openPage(stack, { width });
      await watchShifts(page);
      // The long name of the organization arrives last.
      await page.route(/\/api\/organizations\/[^/]+$/, (route) => setTimeout(() => route.continue(), 200));
      const found: string[] = [];
      const look = async (address: string) => {
        const path = address.replace('$organization', organizationId).replace('$poor', poorId);
        await page.setViewportSize({ width, height: 900 });
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('[aria-busy="true"], [class*="skeleton"]').first().waitFor({ state: 'detached' });
        const says = SAYS[address];
        if (says !== undefined) await page.getByText(says).first().waitFor();
        const here = await shifts(page);
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme });
          here.push(...(await flaws(page)));
          await keepPicture(page, `${address.replaceAll(/\W+/g, '-')}-${width}-${colorScheme}`);
        }
        if (width === PHONE) {
          await page.setViewportSize({ width: SMALL_PHONE, height: 900 });
          here.push(...(await overflows(page)));
          await page.setViewportSize({ width, height: 900 });
          await page.evaluate("document.documentElement.style.fontSize = '200%'");
          here.push(...(await overflows(page)).map((flaw) => `texts of twice the size: ${flaw}`));
          await keepPicture(page, `${address.replaceAll(/\W+/g, '-')}-${width}-large-texts`);
        }
        found.push(...here.map((flaw) => `${address}: ${flaw}`));
      };
      for (const address of OUTSIDE) await look(address);
      await signIn(page, 'operator@gateway.example', password);
      for (const address of ADDRESSES) await look(address);
      expect([...found, ...complaints()]).toEqual([]);
    },
  );

  test('a charged request shows how its cost was computed, without a barrier', async () => {
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
    const { page, complaints } = await openPage(stack);
    await signIn(page, 'operator@gateway.example', password);
    await page.goto(`/o/${organizationId}/requests?open=${id}`);
    const drawer = page.getByRole('dialog');
    await drawer.getByText('Price entry: Service tier flex.').waitFor();
    const lines = await drawer.getByRole('table').getByRole('row').allInnerTexts();
    // 100 uncached, 600 cached and 300 written tokens at 0.625, and 77 of output at 5.
    expect(lines.map((line) => line.split(/\s*\t\s*/))).toEqual([
      ['Tokens of', 'Number', 'Per million', 'Amount'],
      ['Uncached input', '100', '$0.625', '$0.0000625'],
      ['Cached input', '600', '$0.625', '$0.000375'],
      ['Cache writes, 5 min', '199', '$0.625', '$0.000124375'],
      ['Cache writes, 1 h', '101', '$0.625', '$0.000063125'],
      ['Output', '77', '$5.00', '$0.000385'],
      ['Sum', '$0.00101'],
    ]);
    await expectGoodLooks(page, 'charged');
    expect(complaints()).toEqual([]);
  });

  test('an embedding model has a context and an input price alone, below those of the others', async () => {
    const { page } = await openPage(stack);
    await signIn(page, 'operator@gateway.example', password);
    await page.goto('/operator/mapping');
    const cells = (model: string) => page.getByRole('row', { name: new RegExp(`^${model} `) }).getByRole('cell');
    await cells('embedder').first().waitFor();
    const texts = (await cells('embedder').allInnerTexts()).slice(-2);
    expect(texts.map((text) => text.split(/\s+/))).toEqual([['100K'], ['Input', '$0.02']]);
    const places = ['small', 'embedder'].map((model) => cells(model).getByText('Input').boundingBox());
    const [other, own] = await Promise.all(places);
    expect(own?.x).toBe(other?.x);
  });

  test("an operator's overview does not move on a phone when its limits arrive", async () => {
    const { page } = await openPage(stack, { width: PHONE });
    await signIn(page, 'operator@gateway.example', password);
    const measured = Promise.withResolvers<void>();
    await page.route('**/operator-panel-*.js', async (route) => {
      await measured.promise;
      await route.continue();
    });
    await page.goto(`/o/${organizationId}/overview`);
    const top = async () => (await page.getByText('Available balance').boundingBox())?.y;
    const before = await top();
    measured.resolve();
    await page.getByRole('region', { name: 'Operator' }).waitFor();
    expect(await top()).toBe(before);
  });

  test('an address breaks between its numbers, and a long name leaves room for who did something', async () => {
    const { page } = await openPage(stack);
    await signIn(page, 'operator@gateway.example', password);
    const address = '2001:db8:85a3:1234:5678:8a2e:1370:7334';
    await sql(
      stack.databaseUrl,
      `insert into key_activity (key_id, last_used_at, last_address) select id, now(), '${address}' from keys
         on conflict (key_id) do update set last_address = '${address}'`,
    );
    await page.goto(`/o/${organizationId}/keys`);
    await page.getByRole('cell').filter({ hasText: address }).first().waitFor();
    const linesOfParts = await page.evaluate<number[]>(`(() => {
      const cell = [...document.querySelectorAll('td')].find(({ textContent }) => textContent.includes('${address}'));
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      const range = document.createRange();
      const counts = [];
      while (texts.nextNode()) {
        range.selectNodeContents(texts.currentNode);
        counts.push(range.getClientRects().length);
      }
      return counts;
    })()`);
    expect(linesOfParts.filter((lines) => lines !== 1)).toEqual([]);
    await page.goto('/operator/audit');
    await page.getByRole('link', { name: LONG_NAME }).first().waitFor();
    const who = await page.getByRole('columnheader', { name: 'Who' }).boundingBox();
    expect(who?.width).toBeGreaterThan(150);
  });

  test('the name of a key that is written from the right is cut off at its end on a phone', async () => {
    const { page } = await openPage(stack, { width: PHONE });
    await signIn(page, 'operator@gateway.example', password);
    const name = 'מפתח ראשון של מחלקת הפיתוח בחברה הגדולה ביותר בתל אביב לשימוש פנימי בלבד';
    const { keyId } = await stack.operator.addKey(organizationId, { key: { name } });
    await page.goto(`/o/${organizationId}/requests?key=${keyId}`);
    await page.getByRole('button', { name: `Key: ${name}`, exact: true }).waitFor();
    const isShown = await page.evaluate(`(() => {
      const chip = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Key: ${name}');
      const texts = document.createTreeWalker(chip, NodeFilter.SHOW_TEXT);
      while (texts.nextNode() && !texts.currentNode.data.includes('${name}'));
      const range = document.createRange();
      const start = texts.currentNode.data.indexOf('${name}');
      range.setStart(texts.currentNode, start);
      range.setEnd(texts.currentNode, start + 1);
      const [letter, button] = [range.getBoundingClientRect(), chip.getBoundingClientRect()];
      return letter.width > 0 && letter.right <= button.right;
    })()`);
    expect(isShown).toBe(true);
  });

  test('the lists above contain every address of the page', () => {
    const routes = readFileSync(fileURLToPath(new URL('../../dashboard/web/routes.tsx', import.meta.url)), 'utf8');
    const inOrganization = [...routes.matchAll(/inOrganization\(\s*'([^']+)'/g)].map(
      ([, name]) => `/o/$organization/${name}`,
    );
    const others = [...routes.matchAll(/(?:inApp\(|path: )\s*'(\/[^']+)'/g)].map(([, path = '']) => path);
    const walked = [...OUTSIDE, ...ADDRESSES].map((address) => address.split('?')[0] ?? '');
    const own = [...inOrganization, ...others.filter((path) => path !== '/o/$organization')];
    expect(own.length).toBeGreaterThan(20);
    expect(own.filter((path) => !walked.some((address) => covers(path, address)))).toEqual([]);
  });
});

/** True if the address matches the route. Parameters match any text. */
function covers(path: string, address: string): boolean {
  const [parts, given] = [path.split('/'), address.split('/')];
  return parts.length === given.length && parts.every((part, at) => part.startsWith('$') || part === given[at]);
}

/**
 * Inserts charges of ten days: `small` with costs, which sometimes exceed the revenue, `large`
 * without.
 */
async function fillCosts(databaseUrl: string, organizationId: string): Promise<void> {
  const at = `now() - interval '1 day' * n - interval '1 minute' * m`;
  await sql(
    databaseUrl,
    `insert into generations (id, organization_id, key_id, day, model, provider, provider_model, created_at, streamed, cancelled, prompt_tokens,
       completion_tokens, cached_tokens, reasoning_tokens, cache_write_tokens, cache_write_1h_tokens, usage_counted, input_pico_usd,
       cached_input_pico_usd, output_pico_usd, cache_write_pico_usd, cache_write_1h_pico_usd, cost_nano_usd, hold_nano_usd, first_event_ms,
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
