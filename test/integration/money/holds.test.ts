import { expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from '../../harness/database.ts';
import {
  balanceOf,
  errorOf,
  eventsOf,
  gatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { allAtOnce, countOutcomes } from '../../load/all-at-once.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

const gateway = withGateway({
  config: {
    // Only output has a price, so that a hold is exactly the output limit: 100 tokens at 1 USD
    // per million.
    models: {
      exact: { usd_per_million_tokens: { input: 0, output: 1 } },
      priced: { usd_per_million_tokens: { input: 3, cached_input: 0.3, output: 15 } },
      free: { usd_per_million_tokens: { input: 0, output: 0 } },
      dear: { max_output_tokens: 1_000, usd_per_million_tokens: { input: 100, output: 1_000 } },
    },
    timeouts: { first_byte: '20s', stream_idle: '20s', total: '60s' },
    top_up_url: 'https://billing.example/top-up',
  },
});

const LIMIT = 100;
const COST_OF_ONE = 0.0001;

test.each([false, true])('60 at once with a balance for 10: 10 are served, 50 get 402 (stream: %s)', async (stream) => {
  const { organizationId, key } = await gateway.stack.operator.customer({ credit: '0.001' });
  const clients = [gatewayClient(gateway.stack.origin, key)];
  const received = await allAtOnce(gateway.provider, { clients, requests: 60, served: 10, maxTokens: LIMIT, stream });
  expect(countOutcomes(received)).toEqual({ '200': 10, '402 insufficient_credits': 50 });
  expect(await gateway.stack.operator.balance(organizationId)).toBe(0);
  await gateway.stack.operator.verifyLedger();
});

test('the highest cost of a request in flight is held, and the credits endpoint shows it', async () => {
  const { key } = await gateway.stack.operator.customer({ credit: '0.001' });
  const client = gatewayClient(gateway.stack.origin, key);
  const gate = createGate();
  gateway.provider.script('exact', gate.before(jsonAnswer({ usage: { prompt_tokens: 1, completion_tokens: 50 } })));
  const answer = client.chat({ model: 'exact', max_tokens: LIMIT });
  await gate.waitFor(1);
  const during = jsonOf(await client.get('/v1/credits'));
  expect(during.data).toMatchObject({ balance: 0.001, held: COST_OF_ONE, available: 0.0009, total_usage: 0 });
  gate.open();
  await answer;
  await untilNothingHeld(client);
  const after = jsonOf(await client.get('/v1/credits'));
  expect(after.data).toEqual({
    balance: 0.00095,
    held: 0,
    available: 0.00095,
    total_credits: 0.001,
    total_usage: 0.00005,
    currency: 'USD',
  });
});

test('402 names the available and the needed amount and the top-up URL', async () => {
  const { key } = await gateway.stack.operator.customer({ credit: '0.00005' });
  const received = await gatewayClient(gateway.stack.origin, key).chat({ model: 'exact', max_tokens: LIMIT });
  expect(received.status).toBe(402);
  expect(errorOf(received)).toMatchObject({
    type: 'insufficient_credits',
    code: 'insufficient_credits',
    metadata: {
      available_usd: 0.00005,
      estimated_usd: COST_OF_ONE,
      affordable_output_tokens: 50,
      top_up_url: 'https://billing.example/top-up',
    },
  });
});

test('the charge is committed before the last byte, so a read after the response sees it', async () => {
  const { key } = await gateway.stack.operator.customer({ credit: '1' });
  const client = gatewayClient(gateway.stack.origin, key);
  for (const stream of [false, true]) {
    const before = await balanceOf(client);
    gateway.provider.script('exact', stream ? streamAnswer() : jsonAnswer());
    await client.chat({ model: 'exact', stream });
    expect(before - (await balanceOf(client))).toBeCloseTo(0.000005, 12);
  }
});

test('a free model needs no balance', async () => {
  const { key } = await gateway.stack.operator.customer({ credit: '0' });
  expect(outcome(await gatewayClient(gateway.stack.origin, key).chat({ model: 'free' }))).toBe('200');
  await gateway.stack.operator.verifyLedger();
});

test('thinking that appears only in the total is charged, and the client sees the charged usage', async () => {
  const { organizationId, key } = await gateway.stack.operator.customer({ credit: '1' });
  const client = gatewayClient(gateway.stack.origin, key);
  const told = { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 };
  const shown = { ...told, completion_tokens: 603, completion_tokens_details: { reasoning_tokens: 405 } };
  gateway.provider.script('priced', jsonAnswer({ usage: told }), streamAnswer({ usage: told }));
  for (const [answered, stream] of [false, true].entries()) {
    const received = await client.chat({
      model: 'priced',
      stream,
      stream_options: stream ? { include_usage: true } : null,
    });
    // 20 x 3 + 603 x 15 = 9105 USD per million.
    const usage = stream
      ? JSON.parse(eventsOf(received).at(-2) ?? '').usage
      : jsonOf<{ usage: object }>(received).usage;
    expect(usage).toEqual({ ...shown, cost: 0.009105 });
    const generation = await settledGeneration(client, String(received.headers['x-generation-id']));
    expect(generation).toMatchObject({ tokens_prompt: 20, tokens_completion: 603, tokens_reasoning: 405 });
    expect(await gateway.stack.operator.balance(organizationId)).toBeCloseTo(1 - (answered + 1) * 0.009105, 9);
  }
  await expect.poll(() => mismatches('above')).toBe(2);
});

test('a usage whose total is less than its parts is replaced by a count of the texts', async () => {
  const { key } = await gateway.stack.operator.customer({ credit: '1' });
  const client = gatewayClient(gateway.stack.origin, key);
  gateway.provider.script(
    'priced',
    jsonAnswer({ usage: { prompt_tokens: 2000, completion_tokens: 4000, total_tokens: 10 } }),
  );
  const received = await client.chat({ model: 'priced' });
  const generation = await settledGeneration(client, String(received.headers['x-generation-id']));
  expect(generation.tokens_completion).toBeLessThanOrEqual(12);
  expect(generation.tokens_prompt).toBeLessThanOrEqual(12);
  await expect.poll(() => mismatches('below')).toBe(1);
});

test('money of a charge that the ledger refused pays for no other request, until an operator decides', async () => {
  const { databaseUrl, env } = gateway.stack;
  const client = await gateway.openClient({ credit: '0.5' });
  gateway.provider.script('dear', jsonAnswer({ usage: { prompt_tokens: 10, completion_tokens: 400 } }));
  const ask = () => client.chat({ model: 'dear', max_tokens: 400 });
  const credits = async () => jsonOf<{ data: Record<string, number> }>(await client.get('/v1/credits')).data;
  const letters = () => sql<{ id: string }>(databaseUrl, 'select generation_id as id from dead_letters');

  await sql(databaseUrl, `alter table generations add constraint no_model check (model <> 'dear') not valid`);
  expect(outcome(await ask())).toBe('200');
  await expect.poll(letters).toHaveLength(1);
  await sql(databaseUrl, 'alter table generations drop constraint no_model');
  const refused = await ask();
  expect(outcome(refused)).toBe('402 insufficient_credits');
  expect(errorOf(refused).metadata).toMatchObject({ available_usd: 0.099 });
  expect(await credits()).toMatchObject({ balance: 0.5, held: 0.401, available: 0.099, total_usage: 0 });

  const [{ id } = { id: '' }] = await letters();
  const retry = ['ledger', 'dead-letters', 'retry', id];
  expect(await runCommandLine(retry, { ...env, DATABASE_URL: databaseUrl })).toMatchObject({ kind: 'done' });
  expect(await credits()).toMatchObject({ balance: 0.099, held: 0, available: 0.099, total_usage: 0.401 });
  await gateway.stack.operator.verifyLedger();
});

function mismatches(total: 'above' | 'below'): Promise<number> {
  return metric(gateway.stack.metricsOrigin, 'gateway_usage_mismatches_total', { provider: 'fake', total });
}
