import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import {
  eventsOf,
  type GatewayClient,
  gatewayClient,
  outcome,
  settledGeneration,
} from '../../harness/gateway-client.ts';
import type { Customer } from '../../harness/operator.ts';
import { startTestPostgres, type TestPostgres } from '../../harness/postgres-server.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';
import { createGate } from '../../provider/gate.ts';

/** DESIGN invariants 4 to 6: what had begun ends well and is charged, nothing new is admitted unchecked, and nothing has to be repaired by hand. */
let postgres: TestPostgres;
let provider: FakeProvider;
let stack: Stack;
let customer: Customer;
let client: GatewayClient;

beforeAll(async () => {
  postgres = await startTestPostgres();
  provider = await startFakeProvider();
  stack = await startStack({
    postgresSocketDir: postgres.socketDir,
    config: {
      providers: { fake: { base_url: provider.baseUrl } },
      models: { one: {} },
      timeouts: { first_byte: '20s', stream_idle: '20s', total: '60s' },
    },
  });
});

beforeEach(async () => {
  customer = await stack.operator.customer();
  client = gatewayClient(stack.origin, customer.key);
});

afterEach(async () => {
  // After a test that failed in between, so that the next one shows its own fault.
  if (postgres.isDown()) await postgres.restart();
});

afterAll(async () => {
  await stack?.close();
  await postgres?.stop();
  await provider?.close();
});

showLogsOnFailure(() => stack);

const USAGE = { prompt_tokens: 1000, completion_tokens: 500 };
const COST = 0.0015;

async function untilServedAgain(): Promise<void> {
  const deadline = performance.now() + 40_000;
  while ((await client.get('/v1/credits')).status !== 200) {
    if (performance.now() > deadline) throw new Error('not served again');
    await sleep(50);
  }
}

test.each([false, true])(
  'answers under way are completed and charged once, new requests refused (stream: %s)',
  async (stream) => {
    const gate = createGate();
    provider.script('one', gate.before(stream ? streamAnswer({ usage: USAGE }) : jsonAnswer({ usage: USAGE })));
    const underWay = client.chat({ model: 'one', stream });
    await gate.waitFor(1);
    await postgres.crash();

    for (const refused of [await client.chat({ model: 'one' }), await client.get('/v1/models')]) {
      expect(outcome(refused)).toBe('503 no_capacity');
      expect(refused.headers['retry-after']).toBe('10');
    }

    gate.open();
    const received = await underWay;
    expect(received.status).toBe(200);
    if (stream) expect(eventsOf(received).at(-1)).toBe('[DONE]');
    // Readiness remembers an answer for half a second.
    await expect.poll(async () => (await fetch(`${stack.metricsOrigin}/ready`)).status).toBe(503);

    await postgres.restart();
    await untilServedAgain();
    const id = String(received.headers['x-generation-id']);
    expect(await settledGeneration(client, id, 20_000)).toMatchObject({ total_cost: COST, streamed: stream });
    expect(await stack.operator.balance(customer.organizationId)).toBe(100 - COST);
    provider.script('one', jsonAnswer({ usage: USAGE }));
    expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
    await stack.operator.verifyLedger();
  },
);

test('a charge that waits in the spool when the process is killed is charged by the next one', async () => {
  const gate = createGate();
  provider.script('one', gate.before(jsonAnswer({ usage: USAGE })));
  const underWay = client.chat({ model: 'one' });
  await gate.waitFor(1);
  await postgres.crash();
  gate.open();
  expect((await underWay).status).toBe(200);
  await stack.restartGateway('SIGKILL', () => postgres.restart());
  await untilServedAgain();
  expect(await stack.operator.balance(customer.organizationId)).toBe(100 - COST);
  await stack.operator.verifyLedger();
});
