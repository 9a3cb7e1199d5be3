import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PROVED_FOR_MS } from '#database/connection/in-force.ts';
import { eventsOf, type GatewayClient, gatewayClient, outcome, settledGeneration } from '../harness/gateway-client.ts';
import type { Customer } from '../harness/operator.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';

/**
 * docs/design.md, "Invariants", 4 to 6: requests in flight complete and are charged, new requests
 * are never admitted unchecked, and nothing needs repair by hand.
 */
let customer: Customer;
let client: GatewayClient;

const gateway = withGateway(
  {
    config: {
      models: { one: {} },
      timeouts: { first_byte: '20s', stream_idle: '20s', total: '60s' },
    },
  },
  { ownPostgres: true },
);

beforeEach(async () => {
  customer = await gateway.stack.operator.customer();
  client = gatewayClient(gateway.stack.origin, customer.key);
});

afterEach(async () => {
  // A test that failed before its restart must not fail the next test.
  if (gateway.postgres.isDown()) await gateway.postgres.restart();
});

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
  'responses in progress complete and are charged once, new requests are refused (stream: %s)',
  async (stream) => {
    const gate = createGate();
    gateway.provider.script('one', gate.before(stream ? streamAnswer({ usage: USAGE }) : jsonAnswer({ usage: USAGE })));
    const underWay = client.chat({ model: 'one', stream });
    await gate.waitFor(1);
    await gateway.postgres.crash();
    // Until then the proof of the cached caller is valid.
    await sleep(PROVED_FOR_MS);

    for (const refused of [await client.chat({ model: 'one' }), await client.get('/v1/models')]) {
      expect(outcome(refused)).toBe('503 no_capacity');
      expect(refused.headers['retry-after']).toBe('10');
    }

    gate.open();
    const received = await underWay;
    expect(received.status).toBe(200);
    if (stream) expect(eventsOf(received).at(-1)).toBe('[DONE]');
    // Readiness is cached for half a second.
    await expect.poll(async () => (await fetch(`${gateway.stack.metricsOrigin}/ready`)).status).toBe(503);

    await gateway.postgres.restart();
    await untilServedAgain();
    const id = String(received.headers['x-generation-id']);
    expect(await settledGeneration(client, id, 20_000)).toMatchObject({ total_cost: COST, streamed: stream });
    expect(await gateway.stack.operator.balance(customer.organizationId)).toBe(100 - COST);
    gateway.provider.script('one', jsonAnswer({ usage: USAGE }));
    expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
    await gateway.stack.operator.verifyLedger();
  },
);

test('a charge that waits in the log when the process is killed is charged by the next one', async () => {
  const gate = createGate();
  gateway.provider.script('one', gate.before(jsonAnswer({ usage: USAGE })));
  const underWay = client.chat({ model: 'one' });
  await gate.waitFor(1);
  await gateway.postgres.crash();
  gate.open();
  expect((await underWay).status).toBe(200);
  await gateway.stack.restartGateway('SIGKILL', () => gateway.postgres.restart());
  await untilServedAgain();
  expect(await gateway.stack.operator.balance(customer.organizationId)).toBe(100 - COST);
  await gateway.stack.operator.verifyLedger();
});
