import { afterAll, expect, test } from 'vitest';
import { formatUsd } from '#core/money.ts';
import { runCommandLine } from '#operator/command-line.ts';
import {
  balanceOf,
  eventsOf,
  gatewayClient,
  jsonOf,
  settledGeneration,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import type { ProviderUsage } from '../../provider/chat-format.ts';

/** A completion of 1,000 tokens costs 0.001 USD as flex, 0.002 and as priority 0.004. */
const USAGE = { prompt_tokens: 10, completion_tokens: 1000 };
const USD = { flex: 0.001, default: 0.002, priority: 0.004 };
const prices = {
  ...{ input: 0, output: 2 },
  service_tiers: { flex: { input: 0, output: 1 }, priority: { input: 0, output: 4 } },
};
const target = (model: string, request?: object) => ({
  ...{ provider: 'fake', model, cost_usd_per_million_tokens: prices },
  ...(request === undefined ? {} : { request }),
});

const gateway = withGateway({
  config: {
    models: {
      cached: {
        usd_per_million_tokens: { input: 2, cached_input: 0.2, cache_write: 2.5, cache_write_1h: 4, output: 10 },
      },
      plain: { usd_per_million_tokens: prices },
      'falls-back': {
        usd_per_million_tokens: prices,
        targets: [target('full'), target('second', { drop: ['service_tier'] })],
      },
      'is-set': { usd_per_million_tokens: prices, targets: [target('set', { set: { service_tier: 'priority' } })] },
    },
  },
});

const TOKENS = { prompt_tokens: 2000, completion_tokens: 10, total_tokens: 2010 };
const WRITTEN = 1889;

/** Usages that name cached tokens and cache writes in providers' own ways. */
const USAGES: readonly (readonly [who: string, details: object, cost: number, unread: boolean])[] = [
  [
    'DashScope',
    {
      prompt_tokens_details: {
        ...{ cached_tokens: 0, cache_creation_input_tokens: WRITTEN, cache_type: 'ephemeral' },
        cache_creation: { ephemeral_5m_input_tokens: WRITTEN },
      },
    },
    111 * 2 + WRITTEN * 2.5 + 10 * 10,
    false,
  ],
  [
    'LiteLLM',
    {
      prompt_tokens_details: {
        ...{ cached_tokens: 0, cache_creation_tokens: WRITTEN },
        cache_creation_token_details: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: WRITTEN },
      },
      ...{ cache_creation_input_tokens: WRITTEN, cache_read_input_tokens: 0 },
    },
    111 * 2 + WRITTEN * 4 + 10 * 10,
    false,
  ],
  ['a proxy of Anthropic', { cache_read_input_tokens: WRITTEN }, 111 * 2 + WRITTEN * 0.2 + 10 * 10, false],
  ['an unknown provider', { prompt_tokens_details: { cache_magic_tokens: WRITTEN } }, 2000 * 2 + 10 * 10, true],
];

test.each(USAGES.flatMap((usage) => [false, true].map((stream) => [stream, ...usage] as const)))(
  'stream: %s, a usage of %s is charged as reported, and counted in a metric if a field is unknown',
  async (stream, _, details, costPerMillion, unread) => {
    const client = await gateway.openClient();
    const [before, counted] = [await balanceOf(client), await unreadUsages()];
    const usage = { ...TOKENS, ...details } as ProviderUsage;
    gateway.provider.script('cached', stream ? streamAnswer({ usage }) : jsonAnswer({ usage }));
    const options = stream ? { stream_options: { include_usage: true } } : {};
    const answer = await client.chat({ model: 'cached', stream, ...options });
    const shown: { usage: { cost: number } } = stream ? JSON.parse(eventsOf(answer).at(-2) ?? '') : jsonOf(answer);
    expect(shown.usage.cost).toBeCloseTo(costPerMillion / 1e6, 9);
    await settledGeneration(client, String(answer.headers['x-generation-id']));
    await untilNothingHeld(client);
    expect(before - (await balanceOf(client))).toBeCloseTo(costPerMillion / 1e6, 9);
    await expect.poll(unreadUsages).toBe(counted + (unread ? 1 : 0));
    expect(await metric(gateway.stack.metricsOrigin, 'gateway_usage_counted_total', {})).toBe(0);
  },
);

/** Sends a request. Returns the amounts that were charged and lost. */
async function chargedFor(model: string, asked: string | undefined, named: string | undefined, stream = false) {
  const { organizationId, key } = await gateway.stack.operator.customer({ credit: '1' });
  const client = gatewayClient(gateway.stack.origin, key);
  const names = { 'falls-back': 'second', 'is-set': 'set' } as const;
  const serving = model in names ? names[model as keyof typeof names] : model;
  const content = { usage: USAGE, ...(named === undefined ? {} : { serviceTier: named }) };
  gateway.provider.script('full', errorAnswer(429, 'no flex capacity'));
  gateway.provider.script(serving, stream ? streamAnswer(content) : jsonAnswer(content));
  const options = stream ? { stream, stream_options: { include_usage: true } } : {};
  const answer = await client.chat({ model, max_tokens: 1000, service_tier: asked, ...options });
  expect(answer.status).toBe(200);
  const last = stream ? JSON.parse(eventsOf(answer).at(-2) ?? '') : jsonOf(answer);
  const generation = await settledGeneration(client, String(answer.headers['x-generation-id']));
  expect(generation.total_cost).toBe(last.usage.cost);
  return { charged: generation.total_cost, lost: await lostBy(organizationId) };
}

test.each<[model: string, asked: string | undefined, named: string | undefined, charged: number, lost: number]>([
  // The request names no tier, and a setting of the operator's account decides.
  ['plain', undefined, 'priority', USD.default, 0.002],
  ['plain', 'flex', 'default', USD.flex, 0.001],
  ['plain', 'flex', 'priority', USD.flex, 0.003],
  ['plain', 'priority', 'default', USD.default, 0],
  ['plain', 'priority', undefined, USD.priority, 0],
  ['plain', undefined, 'flex', USD.flex, 0],
  // `fast` and `priority` are names of the same tier.
  ['plain', 'fast', 'priority', USD.priority, 0],
  // The target that served was sent no tier.
  ['falls-back', 'flex', undefined, USD.default, 0],
  ['falls-back', 'priority', 'priority', USD.default, 0.002],
  // The `request` fields of its target set another tier.
  ['is-set', undefined, undefined, USD.default, 0],
  ['is-set', 'flex', 'priority', USD.default, 0.002],
])('%s, asked %s, named %s: %d is charged, and %d lost', async (model, asked, named, charged, lost) => {
  expect(await chargedFor(model, asked, named)).toEqual({ charged, lost });
  expect(await chargedFor(model, asked, named, true)).toEqual({ charged, lost });
});
afterAll(() => gateway.stack.operator.verifyLedger());

test('a request with an Idempotency-Key is charged in the same way, and its replay adds no loss', async () => {
  const { organizationId, key } = await gateway.stack.operator.customer({ credit: '1' });
  const client = gatewayClient(gateway.stack.origin, key);
  gateway.provider.script('plain', jsonAnswer({ usage: USAGE, serviceTier: 'priority' }));
  const ask = () => client.chat({ model: 'plain', max_tokens: 1000 }, { headers: { 'idempotency-key': 'tier' } });
  const answers = [await ask(), await ask()];
  expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true']);
  expect(await lostBy(organizationId)).toBe(0.002);
  expect(await gateway.stack.operator.balance(organizationId)).toBe(1 - USD.default);
});

test('a provider gets the name of the tier that the client sent', async () => {
  await chargedFor('plain', 'fast', undefined);
  expect(gateway.provider.requests('plain').at(-1)?.json?.service_tier).toBe('fast');
});

test('an unknown tier is charged as the requested one, and counted in a metric', async () => {
  const counted = (tier: string) =>
    metric(gateway.stack.metricsOrigin, 'gateway_unknown_service_tiers_total', { model: 'plain', tier });
  expect(await chargedFor('plain', 'flex', 'turbo')).toEqual({ charged: USD.flex, lost: 0 });
  expect(await chargedFor('plain', 'priority', 'turbo')).toEqual({ charged: USD.priority, lost: 0 });
  expect(await chargedFor('plain', undefined, 'not a "name"')).toEqual({ charged: USD.default, lost: 0 });
  await expect.poll(() => counted('turbo')).toBe(2);
  await expect.poll(() => counted('other')).toBe(1);
});

test('the cost at the provider is that of the named tier, or else of the sent one', async () => {
  const before = await costOf('is-set');
  await chargedFor('is-set', undefined, undefined);
  await chargedFor('is-set', 'flex', 'default');
  expect((await costOf('is-set')) - before).toBeCloseTo(USD.priority + USD.default, 9);
});

async function unreadUsages(): Promise<number> {
  const counted = await metric(gateway.stack.metricsOrigin, 'gateway_unread_cache_usages_total', { provider: 'fake' });
  // The metric is absent before the first one.
  return Number.isNaN(counted) ? 0 : counted;
}

async function costOf(model: string): Promise<number> {
  const report = ['costs', 'report', '--by', 'model'];
  const result = await runCommandLine(report, { DATABASE_URL: gateway.stack.databaseUrl });
  if (result.kind !== 'done') throw new Error(result.message);
  const rows = result.json as Record<string, unknown>[];
  return Number(rows.find((row) => row.model === model)?.cost ?? 0);
}

async function lostBy(organizationId: string): Promise<number> {
  const losses = await gateway.stack.operator.administration.losses(0);
  const ofThis = losses.filter((loss) => loss.organizationId === organizationId);
  for (const { reason } of ofThis) expect(reason).toBe('tier');
  return Number(formatUsd(ofThis.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)));
}
