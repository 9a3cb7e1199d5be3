import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { chargeAt, type RawSchedule, rawTableAt, type Tiers } from '#ext-proc/requests/scheduled-prices.fixture.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from '../../harness/database.ts';
import { eventsOf, type GatewayClient, jsonOf, outcome, untilNothingHeld } from '../../harness/gateway-client.ts';
import { untilShipped } from '../../harness/shipped.ts';
import { createTestClock, type TestClock } from '../../harness/test-clock.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, slowly, streamAnswer } from '../../provider/acts.ts';

/**
 * The wall clock of the gateway process passes midnight of 1 December under load. The arrival of a
 * request is read only from that clock; PostgreSQL and Envoy use the machine's clock.
 */
const CHANGE_MS = Date.UTC(2026, 11, 1);
const BEFORE_MS = 4_000;
const AFTER_MS = 4_000;
const CLIENTS = 8;
const PAUSE_MS = 250;
/** The duration of a response, so that many are in flight at midnight. */
const LENGTH_MS = 1_000;

const SCHEDULES: Readonly<Record<string, RawSchedule>> = {
  // The first table of the file is no longer in force.
  date: { input: 9, output: 9, from: { '2001-01-01': { input: 1, output: 2 }, '2026-12-01': { input: 3, output: 5 } } },
  hour: { input: 1, output: 2, hours: [{ utc: '22:00-00:00', days: ['mon'], input: 3, cached_input: 1, output: 7 }] },
  tier: {
    ...{ input: 2, output: 2, service_tiers: { priority: { input: 4, output: 5 }, flex: { input: 1, output: 1 } } },
    from: {
      '2026-12-01': {
        ...{ input: 4, output: 4, service_tiers: { fast: { input: 9, output: 8 }, flex: { input: 3, output: 3 } } },
        hours: [{ utc: '00:00-06:00', input: 2, cached_input: 0.1, output: 3 }],
      },
    },
  },
};
const MODELS = Object.keys(SCHEDULES);
const ASKED = [undefined, 'default', 'priority', 'fast', 'flex'];
const USAGE = { prompt_tokens: 100, completion_tokens: 400, prompt_tokens_details: { cached_tokens: 40 } };
const USED = {
  ...{ promptTokens: 100, completionTokens: 400, cachedTokens: 40, reasoningTokens: 0 },
  ...{ cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
};

let clock: TestClock;
afterAll(() => clock?.remove());
const gateway = withGateway(() => {
  clock = createTestClock();
  clock.set(CHANGE_MS - 3_600_000);
  const models = Object.entries(SCHEDULES).map(([model, prices]) => [model, { usd_per_million_tokens: prices }]);
  return { env: clock.env, config: { models: Object.fromEntries(models) } };
});

interface Answered {
  readonly outcome: string;
  readonly isWhole: boolean;
  readonly id: string;
  readonly tiers: Tiers;
  readonly isStream: boolean;
  readonly overMidnight: boolean;
}

let asked = 0;

async function ask(client: GatewayClient): Promise<Answered> {
  const turn = asked++;
  const model = MODELS[turn % MODELS.length] ?? '';
  const stream = turn % 2 === 0;
  const tier = model === 'tier' ? ASKED[turn % ASKED.length] : undefined;
  const sentMs = clock.nowMs();
  const received = await client.chat({
    ...{ model, stream, max_tokens: 1000 },
    ...(tier === undefined ? {} : { service_tier: tier }),
  });
  return {
    outcome: outcome(received),
    isWhole: stream ? eventsOf(received).at(-1) === '[DONE]' : received.text.endsWith('}'),
    id: String(received.headers['x-generation-id']),
    // The provider names the requested tier.
    tiers: { asked: tier, sent: tier, served: tier },
    isStream: stream,
    overMidnight: sentMs < CHANGE_MS - 100 && clock.nowMs() > CHANGE_MS + 100,
  };
}

async function answersUntil(endMs: number): Promise<Answered[]> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => gateway.openClient()));
  clock.set(CHANGE_MS - BEFORE_MS);
  const each = clients.map(async (client) => {
    const answers: Promise<Answered>[] = [];
    while (clock.nowMs() < endMs) {
      answers.push(ask(client));
      await sleep(PAUSE_MS);
    }
    const answered = await Promise.all(answers);
    await untilNothingHeld(client);
    return answered;
  });
  return (await Promise.all(each)).flat();
}

interface Row {
  readonly id: string;
  readonly model: string;
  readonly arrived_ms: string;
  readonly cost_nano_usd: string;
}

test('requests are charged at the prices of their arrival when prices change under load at midnight', async () => {
  const { provider, stack } = gateway;
  for (const model of MODELS) {
    provider.script(model, (call) => {
      const { service_tier: tier } = JSON.parse(call.seen.body.toString()) as { service_tier?: string };
      const content = { usage: USAGE, ...(tier === undefined ? {} : { serviceTier: tier }) };
      const paced = streamAnswer({ ...content, paceMs: LENGTH_MS / 5 });
      return (call.seen.stream ? paced : slowly(LENGTH_MS, jsonAnswer(content)))(call);
    });
  }
  const processes = [stack.gateway.pid, stack.envoy.pid];
  const answers = await answersUntil(CHANGE_MS + AFTER_MS);

  expect(new Set(answers.map((one) => one.outcome))).toEqual(new Set(['200']));
  expect(answers.filter(({ isWhole }) => !isWhole)).toEqual([]);
  for (const isStream of [true, false]) {
    const over = answers.filter((one) => one.overMidnight && one.isStream === isStream);
    expect(over.length).toBeGreaterThan(CLIENTS / 2);
  }

  await untilShipped(stack.paths);
  const rows = await sql<Row>(
    stack.databaseUrl,
    `select id, model, round(extract(epoch from created_at) * 1000)::bigint as arrived_ms, cost_nano_usd
     from generations`,
  );
  expect(rows.map(({ id }) => id).toSorted()).toEqual(answers.map(({ id }) => id).toSorted());
  const tiersOf = new Map(answers.map(({ id, tiers }) => [id, tiers]));
  const expected = rows.map(({ id, model, arrived_ms }) => {
    const table = rawTableAt(SCHEDULES[model] ?? { input: 0, output: 0 }, Number(arrived_ms));
    return { id, nanoUsd: chargeAt(table, tiersOf.get(id) ?? {}, USED) };
  });
  expect(rows.map(({ id, cost_nano_usd }) => ({ id, nanoUsd: BigInt(cost_nano_usd) }))).toEqual(expected);
  // Requests for each model arrived before and after midnight.
  const sides = rows.map(({ model, arrived_ms }) => `${model} ${Number(arrived_ms) < CHANGE_MS}`);
  expect(new Set(sides).size).toBe(2 * MODELS.length);

  expect(await runCommandLine(['ledger', 'verify'], stack.env)).toMatchObject({ kind: 'done' });
  expect([stack.gateway.pid, stack.envoy.pid]).toEqual(processes);
  expect([stack.gateway.hasEnded(), stack.envoy.hasEnded()]).toEqual([false, false]);
});

test('the listed prices change at midnight too', async () => {
  const client = await gateway.openClient();
  const shown = async () => {
    const { data } = jsonOf<{ data: { id: string; pricing: object }[] }>(await client.get('/v1/models'));
    return data.find(({ id }) => id === 'date')?.pricing;
  };
  clock.set(CHANGE_MS - 60_000);
  const from = '2026-12-01T00:00:00Z';
  expect(await shown()).toMatchObject({ input: 1, changes: [{ from, input: 3 }] });
  clock.set(CHANGE_MS);
  expect(await shown()).toMatchObject({ input: 3, changes: [] });
});
