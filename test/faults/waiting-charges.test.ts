import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, jsonOf, outcome } from '../harness/gateway-client.ts';
import { untilSettled } from '../harness/serving.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { jsonAnswer } from '../provider/acts.ts';

/**
 * Responses end when their charges are durable in the process's log, before they are committed in
 * PostgreSQL (docs/design.md, "Invariants", 4).
 */
const AWAY_MS = 20_000;
const AT_ONCE_MS = 1_500;
const MOST_TRIES = 3;
const USAGE = { prompt_tokens: 1000, completion_tokens: 500 };
const COST = 0.0015;
const CONFIG = { models: { one: {}, exact: PLANNED_MODEL } };

const gateway = withGateway({ config: CONFIG }, { ownPostgres: true });

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  if (gateway.postgres.isDown()) await gateway.postgres.restart();
  await untilSettled(gateway.stack, 30_000);
  await gateway.stack.operator.verifyLedger();
});

async function newClient(): Promise<{ client: GatewayClient; organizationId: string }> {
  const { key, organizationId } = await gateway.stack.operator.customer();
  const client = gatewayClient(gateway.stack.origin, key);
  closing.push(async () => client.close());
  return { client, organizationId };
}

/** Blocks the organization's charges until the returned function is called. */
async function blockCharges(organizationId: string): Promise<() => Promise<void>> {
  const session = new pg.Client({ connectionString: gateway.stack.databaseUrl });
  await session.connect();
  await session.query('begin');
  await session.query('select 1 from accounts where organization_id = $1 for update', [organizationId]);
  let ended: Promise<void> | undefined;
  const end = () => (ended ??= session.end());
  closing.unshift(end);
  return end;
}

const waitingMetric = async (): Promise<number> => {
  const page = await (await fetch(`${gateway.stack.metricsOrigin}/metrics`)).text();
  return Number(/^gateway_charges_waiting\{.*\} (\S+)$/m.exec(page)?.[1]);
};

const reloads = (): number => gateway.stack.logs().split('configuration reloaded').length - 1;

test('a response that ended before the commit is charged once after kill -9', async () => {
  gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
  const { client, organizationId } = await newClient();
  const release = await blockCharges(organizationId);
  // Other load on the machine slows some responses, so a slow request is repeated.
  let [charges, tookMs] = [0, Number.POSITIVE_INFINITY];
  for (; tookMs >= AT_ONCE_MS && charges < MOST_TRIES; charges++) {
    const startedMs = performance.now();
    expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
    tookMs = performance.now() - startedMs;
  }
  expect(tookMs).toBeLessThan(AT_ONCE_MS);
  expect(await waitingMetric()).toBe(charges);
  const left = Number((100 - charges * COST).toFixed(9));
  await gateway.stack.restartGateway('SIGKILL', release);
  expect(await gateway.stack.operator.balance(organizationId)).toBe(left);
  await gateway.stack.restartGateway('SIGKILL');
  expect(await gateway.stack.operator.balance(organizationId)).toBe(left);
});

test("a client's reads include the charges of its earlier responses at every endpoint", async () => {
  gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
  const { client } = await newClient();
  for (let n = 1; n <= 10; n++) {
    const { headers } = await client.chat({ model: 'one' });
    const read = async <T>(path: string) => jsonOf<T>(await client.get(path));
    const [credits, usage, generation] = await Promise.all([
      read<{ data: object }>('/v1/credits'),
      read<{ total: object }>('/v1/usage'),
      read<{ data: object }>(`/v1/generation?id=${headers['x-generation-id']}`),
    ]);
    expect(credits.data).toMatchObject({ balance: Number((100 - n * COST).toFixed(9)), held: 0 });
    expect(usage.total).toMatchObject({ requests: n });
    expect(generation.data).toMatchObject({ total_cost: COST });
  }
});

test('completions are refused once a charge has waited for five seconds, and served again after it', async () => {
  gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
  const [blocked, other] = [await newClient(), await newClient()];
  const release = await blockCharges(blocked.organizationId);
  expect(outcome(await blocked.client.chat({ model: 'one' }))).toBe('200');
  expect(outcome(await other.client.chat({ model: 'one' }))).toBe('200');
  const credits = jsonOf<{ data: object }>(await blocked.client.get('/v1/credits'));
  // The read stopped waiting for the charge, whose exact amount is held.
  expect(credits.data).toMatchObject({ balance: 100, held: COST });
  await expect
    .poll(async () => outcome(await other.client.chat({ model: 'one' })), { timeout: 15_000, interval: 200 })
    .toBe('503 no_capacity');
  await expect
    .poll(async () => (await fetch(`${gateway.stack.metricsOrigin}/ready`)).text())
    .toContain('charges wait for PostgreSQL');
  await release();
  await expect
    .poll(async () => outcome(await other.client.chat({ model: 'one' })), { timeout: 15_000, interval: 200 })
    .toBe('200');
  expect(await gateway.stack.operator.balance(blocked.organizationId)).toBe(100 - COST);
});

test('a response waits for its commit where charges are durable in the database', async () => {
  gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
  const { client, organizationId } = await newClient();
  const providers = { fake: { base_url: gateway.provider.baseUrl } };
  gateway.stack.writeConfig({ ...CONFIG, providers, charges: { durable_in: 'database' } });
  await expect.poll(reloads).toBe(1);
  const release = await blockCharges(organizationId);
  let ended = false;
  const asked = client.chat({ model: 'one' }).finally(() => {
    ended = true;
  });
  await sleep(1_000);
  expect(ended).toBe(false);
  await release();
  expect(outcome(await asked)).toBe('200');
  expect(await waitingMetric()).toBe(0);
  gateway.stack.writeConfig({ ...CONFIG, providers });
  await expect.poll(reloads).toBe(2);
});

test(`with PostgreSQL down for ${AWAY_MS / 1_000} s under load nothing is lost or charged twice`, async () => {
  gateway.provider.script('exact', plannedAnswer);
  const { client } = await newClient();
  const loading = plannedLoad([client], performance.now() + AWAY_MS + 12_000);
  await sleep(3_000);
  await gateway.postgres.crash();
  await sleep(AWAY_MS);
  await gateway.postgres.restart();
  const tally = await loading;
  await untilSettled(gateway.stack, 30_000);
  await expectCharged(gateway.stack.databaseUrl, tally);
  expect(Object.keys(tally.outcomes).sort()).toEqual(['503', 'complete']);
  expect(tally.complete.size).toBeGreaterThan(100);
}, 120_000);
