import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import pg from 'pg';
import { expect, test } from 'vitest';
import { utcDay, utcDayText } from '#core/clock.ts';
import { dice } from '../../fixtures/seeded-numbers.ts';
import { type GatewayClient, gatewayClient, jsonOf, untilNothingHeld } from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { untilShipped } from '../../harness/shipped.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, stall, streamAnswer, streamThen } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';
import type { ProviderUsage } from '../../provider/chat-format.ts';

const REQUESTS = 300;
const AT_ONCE = 16;
const CREDIT_NANO_USD = 100_000_000_000n;

/** Pico-dollars per token, with prices that are no whole nano-dollars. */
const PRICES = {
  plain: { input: 3_000_000n, cached: 300_000n, output: 15_000_000n },
  cheap: { input: 37n, cached: 3n, output: 149n },
} as const;
type ModelName = keyof typeof PRICES;

const gateway = withGateway((provider) => ({
  config: {
    providers: { fake: { base_url: provider.baseUrl, on_disconnect: 'abort' } },
    models: {
      plain: { usd_per_million_tokens: { input: 3, cached_input: 0.3, output: 15 } },
      cheap: { usd_per_million_tokens: { input: 0.000037, cached_input: 0.000003, output: 0.000149 } },
    },
    retries: { per_target: 0 },
  },
}));

const KINDS = ['usage', 'usage', 'cached', 'reasoning', 'missing', 'absurd', 'error', 'leaves'] as const;
type Kind = (typeof KINDS)[number];

interface Plan {
  readonly index: number;
  readonly kind: Kind;
  readonly model: ModelName;
  readonly stream: boolean;
  readonly usage: ProviderUsage;
  readonly pieces: readonly string[];
}

interface Generation {
  readonly id: string;
  readonly model: ModelName;
  readonly prompt: number;
  readonly completion: number;
  readonly cached: number;
  readonly counted: boolean;
  readonly cancelled: boolean;
  readonly cost: bigint;
}

/**
 * Impossible usages: negative, not whole, not a number, above every model, more cached than prompt
 * tokens.
 */
const ABSURD = [
  { prompt_tokens: -5, completion_tokens: 7 },
  { prompt_tokens: 12.5, completion_tokens: 7 },
  { prompt_tokens: '12', completion_tokens: 7 },
  { prompt_tokens: 12, completion_tokens: 9_000_000_000_000 },
  { prompt_tokens: 1e300, completion_tokens: 7 },
  { prompt_tokens: 10, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 11 } },
  { prompt_tokens: 0, completion_tokens: 7 },
  { prompt_tokens: null, completion_tokens: null },
  'many',
] as unknown as readonly ProviderUsage[];

const WORDS = ['Hello', ' from', ' the', ' provider', ', and', ' goodbye', ' 世界', ' 🙂', '..', '\n'];

function planOf(index: number, roll: (sides: number) => number): Plan {
  const kind = KINDS[roll(KINDS.length)] ?? 'usage';
  const prompt = 2 + roll(5000);
  const completion = 1 + roll(900);
  const usage: ProviderUsage = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    ...(kind === 'cached' ? { prompt_tokens_details: { cached_tokens: roll(prompt + 1) } } : {}),
    ...(kind === 'reasoning' ? { completion_tokens_details: { reasoning_tokens: roll(completion + 1) } } : {}),
  };
  return {
    index,
    kind,
    model: roll(2) === 0 ? 'plain' : 'cheap',
    stream: kind === 'leaves' || roll(2) === 0,
    usage: kind === 'absurd' ? (ABSURD[roll(ABSURD.length)] ?? usage) : usage,
    pieces: Array.from({ length: kind === 'leaves' ? 20 : 3 + roll(10) }, () => WORDS[roll(WORDS.length)] ?? ''),
  };
}

function actOf({ kind, stream, usage, pieces }: Plan): Act {
  if (kind === 'error') return errorAnswer(500, 'broken');
  const reported = kind === 'missing' ? null : usage;
  // Only the client's disconnect ends it.
  if (kind === 'leaves') return streamThen(10, stall, { pieces, usage: reported, paceMs: 10 });
  if (stream) return streamAnswer({ pieces, usage: reported });
  return jsonAnswer({ text: pieces.join(''), usage: reported });
}

/** Resolves with the generation id, or `undefined` after an error. */
async function send(client: GatewayClient, plan: Plan): Promise<string | undefined> {
  const gone = new AbortController();
  let id: string | undefined;
  let seen = 0;
  const body = {
    model: plan.model,
    stream: plan.stream,
    // Makes the hold larger than the cost of every plan's usage.
    max_tokens: 6000,
    messages: [{ role: 'user', content: `plan ${plan.index}` }],
  };
  await client
    .chat(body, {
      signal: gone.signal,
      onHead: (status, headers) => {
        if (status === 200) id = String(headers['x-generation-id']);
      },
      onPiece: (text) => {
        seen += text.split('data: ').length - 1;
        if (plan.kind === 'leaves' && seen >= 3) gone.abort();
      },
    })
    .catch((error: unknown) => {
      if (plan.kind !== 'leaves') throw error;
    });
  return id;
}

/**
 * All of the pricing, written independently: cached tokens at their own price, and the sum rounded
 * up once to the next nano-dollar.
 */
function costOf(model: ModelName, prompt: number, cached: number, completion: number): bigint {
  const { input, cached: cachedInput, output } = PRICES[model];
  const pico = BigInt(prompt - cached) * input + BigInt(cached) * cachedInput + BigInt(completion) * output;
  return (pico + 999n) / 1000n;
}

test(`${REQUESTS} mixed requests: every balance matches the provider's usage to the nano-dollar`, async () => {
  const roll = dice(20_261_121);
  const plans = Array.from({ length: REQUESTS }, (_, index) => planOf(index, roll));
  const act: Act = (call) => {
    const plan = plans[Number(/plan (\d+)/.exec(call.seen.body.toString())?.[1])];
    if (!plan) throw new Error('a request of no plan');
    return actOf(plan)(call);
  };
  for (const model of Object.keys(PRICES)) gateway.provider.script(model, act);
  const customers = await Promise.all([1, 2, 3].map(() => gateway.stack.operator.customer()));
  const clients = customers.map(({ key }) => gatewayClient(gateway.stack.origin, key));
  const planOfId = new Map<string, { readonly plan: Plan; readonly owner: number }>();
  const todo = [...plans];
  const worker = async (): Promise<void> => {
    for (let plan = todo.pop(); plan; plan = todo.pop()) {
      const owner = plan.index % clients.length;
      const client = clients[owner];
      const id = client && (await send(client, plan));
      if (id !== undefined) planOfId.set(id, { plan, owner });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const client of clients) await untilNothingHeld(client);

  const generations = await allGenerations();
  expect(generations.map(({ id }) => id).toSorted()).toEqual([...planOfId.keys()].toSorted());
  expect(planOfId.size).toBe(plans.filter(({ kind }) => kind !== 'error').length);
  const spent = customers.map(() => 0n);
  for (const generation of generations) {
    const found = planOfId.get(generation.id);
    if (!found) throw new Error('every generation has its plan');
    const cost = expectedCost(found.plan, generation);
    expect(generation.cost, `plan ${found.plan.index}, ${found.plan.kind}`).toBe(cost);
    spent[found.owner] = (spent[found.owner] ?? 0n) + cost;
  }
  for (const [owner, { organizationId }] of customers.entries()) {
    const organization = await gateway.stack.operator.administration.organization(organizationId);
    expect(organization?.balanceNanoUsd).toBe(CREDIT_NANO_USD - (spent[owner] ?? 0n));
    const client = clients[owner];
    if (client) await expectSameEverywhere(client, spent[owner] ?? 0n, generationsOf(owner));
  }
  await gateway.stack.operator.verifyLedger();
  // The plans have every kind of request.
  expect(new Set(plans.map(({ kind, stream }) => `${kind} ${stream}`)).size).toBe(13);
  const counted = generations.filter((generation) => generation.counted).length;
  await expect.poll(() => metric(gateway.stack.metricsOrigin, 'gateway_usage_counted_total')).toBe(counted);

  function generationsOf(owner: number): number {
    return [...planOfId.values()].filter((one) => one.owner === owner).length;
  }
});

/** Cost by the provider's usage if it is plausible, else by the text that the provider wrote. */
function expectedCost({ kind, model, usage, pieces }: Plan, generation: Generation): bigint {
  if (kind === 'usage' || kind === 'cached' || kind === 'reasoning') {
    expect(generation).toMatchObject({ counted: false, cancelled: false });
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    return costOf(model, usage.prompt_tokens, cached, usage.completion_tokens);
  }
  expect(generation).toMatchObject({ counted: true, cached: 0, cancelled: kind === 'leaves' });
  const whole = countTokens(pieces.join(''));
  if (kind === 'leaves') {
    // The output that the client received, and output that was in transit when it disconnected.
    expect(generation.completion).toBeGreaterThan(0);
    expect(generation.completion).toBeLessThanOrEqual(whole + pieces.length);
  } else expect(generation.completion).toBe(whole);
  expect(generation.prompt).toBeGreaterThan(0);
  expect(generation.prompt).toBeLessThan(30);
  return costOf(model, generation.prompt, 0, generation.completion);
}

/** Expects the usage and credits endpoints to agree with the sum of the charges. */
async function expectSameEverywhere(client: GatewayClient, spentNanoUsd: bigint, requests: number): Promise<void> {
  const spentUsd = Number(spentNanoUsd) / 1e9;
  const credits = jsonOf<{ data: Record<string, number> }>(await client.get('/v1/credits')).data;
  expect(credits.total_usage).toBeCloseTo(spentUsd, 9);
  expect(credits.balance).toBeCloseTo(100 - spentUsd, 9);
  const yesterday = utcDayText(utcDay(Date.now()) - 1);
  const usage = jsonOf<{ data: Record<string, number>[]; total: Record<string, number> }>(
    await client.get(`/v1/usage?start_date=${yesterday}&group_by=day,model,key`),
  );
  expect(usage.total).toMatchObject({ requests });
  expect(usage.total.cost).toBeCloseTo(spentUsd, 9);
  expect(usage.data.reduce((sum, row) => sum + (row.cost ?? 0), 0)).toBeCloseTo(spentUsd, 9);
}

async function allGenerations(): Promise<Generation[]> {
  await untilShipped(gateway.stack.paths);
  const client = new pg.Client({ connectionString: gateway.stack.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, string> & { counted: boolean; cancelled: boolean }>(
      `select id, model, prompt_tokens as prompt, completion_tokens as completion, cached_tokens as cached, usage_counted as counted,
         cancelled, cost_nano_usd as cost from generations`,
    );
    return rows.map((row) => ({
      id: String(row.id),
      model: row.model as ModelName,
      prompt: Number(row.prompt),
      completion: Number(row.completion),
      cached: Number(row.cached),
      counted: row.counted,
      cancelled: row.cancelled,
      cost: BigInt(String(row.cost)),
    }));
  } finally {
    await client.end();
  }
}
