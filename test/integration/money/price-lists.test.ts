import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { runCommandLine } from '#operator/command-line.ts';
import {
  type GatewayClient,
  gatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { BY } from '../../harness/operator.ts';
import type { TestConfig } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';

const USAGE = { prompt_tokens: 100, completion_tokens: 900 };
const HOURS = [{ utc: '00:00-24:00', days: ['mon'], input: 1, output: 1 }] as const;
const LATER = { [new Date(Date.now() + 30 * DAY_MS).toISOString()]: { input: 0.5, output: 4 } };
const LISTS = {
  partner: { '*': { percent: -33.3333 }, free: { percent: 50 } },
  table: {
    stream: { input: 0.09, output: 0.45, cache_write: 0.2, above: [{ input_tokens: 50, input: 3, output: 5 }] },
  },
  expensive: { '*': { percent: 50 } },
};

function configOf(baseUrl: string, price_lists: TestConfig['price_lists']): TestConfig {
  const prices = { input: 0.25, output: 2 };
  return {
    providers: { fake: { base_url: baseUrl } },
    models: {
      json: { usd_per_million_tokens: prices },
      stream: { usd_per_million_tokens: { ...prices, from: LATER, hours: HOURS } },
      free: { usd_per_million_tokens: { input: 0, output: 0 } },
    },
    ...(price_lists ? { price_lists } : {}),
  };
}

const gateway = withGateway((provider) => {
  provider.script('json', jsonAnswer({ usage: USAGE }));
  provider.script('free', jsonAnswer({ usage: USAGE }));
  provider.script('stream', streamAnswer({ usage: USAGE }));
  return { config: configOf(provider.baseUrl, LISTS) };
});

/** Prices of the model `json`, 0.25 and 2, changed by percentages and rounded up to millionths. */
const OWN = { input: 0.25, output: 2 };
const PARTNER = { input: 0.166667, output: 1.333334 };
const EXPENSIVE = { input: 0.375, output: 3 };

const costOf = ({ input, output }: typeof OWN) => Math.ceil(Math.round((100 * input + 900 * output) * 1e6) / 1e3) / 1e9;

interface Listed {
  readonly id: string;
  readonly pricing: {
    readonly input: number;
    readonly output: number;
    readonly changes: ReadonlyArray<typeof OWN & { readonly from: string }>;
    readonly hours: readonly (typeof OWN)[];
  };
}

async function pricesOf(client: GatewayClient): Promise<Record<string, Listed['pricing']>> {
  const { data } = jsonOf<{ data: readonly Listed[] }>(await client.get('/v1/models'));
  return Object.fromEntries(data.map(({ id, pricing }) => [id, pricing]));
}

async function customerOf(priceList?: string, credit = '100') {
  const { stack } = gateway;
  const organization = priceList === undefined ? {} : { priceList };
  const customer = await stack.operator.customer({ credit, organization });
  return { ...customer, client: gatewayClient(stack.origin, customer.key) };
}

async function charged(client: GatewayClient, body: object): Promise<number> {
  const received = await client.chat({ model: 'json', ...body });
  expect(outcome(received)).toBe('200');
  return Number((await settledGeneration(client, String(received.headers['x-generation-id']))).total_cost);
}

async function reload(lists: TestConfig['price_lists'], isLoaded: () => Promise<boolean>): Promise<void> {
  gateway.stack.writeConfig(configOf(gateway.provider.baseUrl, lists));
  await expect.poll(isLoaded).toBe(true);
}

test('each caller sees the prices of its own list, also during concurrent requests of others', async () => {
  const lists = [undefined, 'partner', 'table', 'expensive', 'partner', undefined] as const;
  const customers = await Promise.all(lists.map((list) => customerOf(list)));
  const rounds = Array.from({ length: 5 }, () => customers.map(({ client }) => pricesOf(client)));
  for (const round of rounds) {
    const [own, partner, table, expensive, again] = await Promise.all(round);
    expect(own?.json).toMatchObject(OWN);
    expect(partner?.json).toMatchObject(PARTNER);
    expect(again).toEqual(partner);
    expect(expensive?.json).toMatchObject(EXPENSIVE);
    // A list that names one model does not change the prices of others.
    expect(table?.json).toEqual(own?.json);
    expect(partner?.free).toMatchObject({ input: 0, output: 0 });
  }
  const [own, partner, table] = await Promise.all(customers.map(({ client }) => pricesOf(client)));
  expect(own?.stream).toMatchObject({ changes: [{ input: 0.5, output: 4 }], hours: [{ input: 1, output: 1 }] });
  const third = { input: 0.333334, output: 2.666668 };
  expect(partner?.stream).toMatchObject({ changes: [third], hours: [{ input: 0.666667, output: 0.666667 }] });
  expect(table?.stream).toMatchObject({ input: 0.09, output: 0.45, changes: [], hours: [] });
  for (const { client } of customers) client.close();
});

test('charges are exact at the prices of each list, with many requests at once on one process', async () => {
  const customers = await Promise.all(
    ([undefined, 'partner', 'expensive', 'table'] as const).map(async (list) => ({
      list,
      ...(await customerOf(list)),
    })),
  );
  const expected = { partner: costOf(PARTNER), expensive: costOf(EXPENSIVE), table: costOf(OWN) };
  const costs = await Promise.all(
    customers.flatMap(({ list, client }) =>
      Array.from({ length: 8 }, async () => [list ?? 'table', await charged(client, {})] as const),
    ),
  );
  for (const [list, cost] of costs) expect([list, cost]).toEqual([list, expected[list]]);
  const [, partner, , table] = customers;
  // The prompt is longer than 50 tokens, so the prices for long prompts apply.
  if (table)
    expect(await charged(table.client, { model: 'stream', stream: true })).toBe(costOf({ input: 3, output: 5 }));
  if (partner) expect(await charged(partner.client, { model: 'free' })).toBe(0);
  for (const { client } of customers) {
    await untilNothingHeld(client);
    client.close();
  }
  const report = await runCommandLine(['costs', 'report', '--by', 'organization'], {
    DATABASE_URL: gateway.stack.databaseUrl,
  });
  if (report.kind !== 'done') throw new Error(report.message);
  const rows = report.json as ReadonlyArray<{ organization_id: string; revenue: number; list: number }>;
  const sums = customers.map(({ organizationId }) => rows.find((row) => row.organization_id === organizationId));
  const own = 8 * costOf(OWN);
  expect(sums[0]).toMatchObject({ revenue: own, list: own });
  expect(sums[1]?.revenue).toBeCloseTo(8 * costOf(PARTNER), 12);
  expect(sums[1]?.list).toBeCloseTo(own, 12);
  expect(sums[2]).toMatchObject({ list: own });
  await gateway.stack.operator.verifyLedger();
});

test('a hold covers the charge of a more expensive list, and requests that its balance cannot pay are refused', async () => {
  const losses = () => metric(gateway.stack.metricsOrigin, 'gateway_losses_usd_total', { reason: 'over_hold' });
  const before = await losses();
  const rich = await customerOf('expensive');
  // The response is nearly as long as the limit, so the hold is little more than the charge.
  expect(await charged(rich.client, { max_tokens: 900 })).toBe(costOf(EXPENSIVE));
  expect(await losses()).toBe(before);
  const balances = String(costOf(OWN) * 1.2);
  const [own, expensive] = [await customerOf(undefined, balances), await customerOf('expensive', balances)];
  expect(outcome(await own.client.chat({ model: 'json', max_tokens: 900 }))).toBe('200');
  expect(outcome(await expensive.client.chat({ model: 'json', max_tokens: 900 }))).toBe('402 insufficient_credits');
  for (const { client } of [rich, own, expensive]) client.close();
});

test('the prices at arrival apply, also if the list changes or is removed while the request is in flight', async () => {
  const { provider, stack } = gateway;
  const [changed, gone] = [await customerOf('partner'), await customerOf('partner')];
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  let asked = 0;
  provider.script('json', async (call) => {
    asked += 1;
    if (asked === 2) arrived.resolve();
    await release.promise;
    await jsonAnswer({ usage: USAGE })(call);
  });
  const key = { 'idempotency-key': 'one' };
  const [first, second] = [changed.client.chat({ model: 'json' }, { headers: key }), charged(gone.client, {})];
  await arrived.promise;
  await stack.operator.administration.updateOrganization(gone.organizationId, { priceList: null }, BY);
  await reload(
    { partner: { '*': { percent: 100 } } },
    async () => (await pricesOf(changed.client)).json?.input === 0.5,
  );
  release.resolve();
  const received = await first;
  const { usage } = jsonOf<{ usage: { cost: number } }>(received);
  expect(usage.cost).toBe(costOf(PARTNER));
  expect(await second).toBe(costOf(PARTNER));
  const id = String(received.headers['x-generation-id']);
  expect((await settledGeneration(changed.client, id)).total_cost).toBe(costOf(PARTNER));
  // A replay shows the original charge, and new requests have the new prices.
  const replay = await changed.client.chat({ model: 'json' }, { headers: key });
  expect([replay.headers['idempotent-replayed'], replay.text]).toEqual(['true', received.text]);
  expect(await charged(changed.client, {})).toBe(costOf({ input: 0.5, output: 4 }));
  expect(await charged(gone.client, {})).toBe(costOf(OWN));
  for (const { client } of [changed, gone]) client.close();
  await stack.operator.verifyLedger();
});

test('a body that arrives after a change of the list has the prices at the arrival of its head', async () => {
  const { stack, provider } = gateway;
  provider.script('json', jsonAnswer({ usage: USAGE }));
  const { client, key, organizationId } = await customerOf('partner');
  await reload(LISTS, async () => (await pricesOf(client)).json?.input === PARTNER.input);
  const body = JSON.stringify({ model: 'json', messages: [{ role: 'user', content: 'Hello' }] });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length };
  const sent = request(`${stack.origin}/v1/chat/completions`, { method: 'POST', headers });
  const answered = once(sent, 'response');
  sent.write(body.slice(0, 10));
  await expect.poll(() => metric(stack.metricsOrigin, 'gateway_requests_in_flight')).toBe(1);
  await stack.operator.administration.updateOrganization(organizationId, { priceList: 'expensive' }, BY);
  await reload({ ...LISTS, partner: {} }, async () => (await pricesOf(client)).json?.input === EXPENSIVE.input);
  sent.end(body.slice(10));
  const [response] = (await answered) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  expect(JSON.parse(await text(response)).usage.cost).toBe(costOf(PARTNER));
  expect(await charged(client, {})).toBe(costOf(EXPENSIVE));
  client.close();
});

test("an unknown list means the models' own prices, and is counted in a metric", async () => {
  const { stack } = gateway;
  const { client } = await customerOf('unheard-of');
  const unknown = () => metric(stack.metricsOrigin, 'gateway_unknown_price_lists_total');
  const before = (await unknown()) ?? 0;
  expect((await pricesOf(client)).json).toMatchObject(OWN);
  expect(await charged(client, {})).toBe(costOf(OWN));
  await expect.poll(unknown).toBeGreaterThan(before + 1);
  // After the list is added, the next request has its prices.
  await reload({ 'unheard-of': { json: { percent: 50 } } }, async () => (await pricesOf(client)).json?.input === 0.375);
  expect(await charged(client, {})).toBe(costOf(EXPENSIVE));
  client.close();
  await stack.operator.verifyLedger();
});
