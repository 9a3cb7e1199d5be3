import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { gatewayClient, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../provider/acts.ts';

const gateway = withGateway({
  config: {
    models: { m: { usd_per_million_tokens: { input: 0, output: 1 } } },
  },
});

const usage = { prompt_tokens: 1, completion_tokens: 10 };
/** Cost of 10 tokens at 1 USD per million. */
const COST = 0.00001;

test('while charging fails independently of the charge, new requests are refused, and all responses are charged afterwards', async () => {
  const { organizationId, key } = await gateway.stack.operator.customer({ credit: '1' });
  const client = gatewayClient(gateway.stack.origin, key);
  gateway.provider.script('m', (call) => (call.seen.stream ? streamAnswer({ usage }) : jsonAnswer({ usage }))(call));
  const outcomes: string[] = [];
  const latest: string[] = [];
  let asking = true;
  const traffic = Array.from({ length: 8 }, async (_, index) => {
    while (asking) {
      const stream = index % 2 === 0;
      const headers = index % 3 === 0 ? { 'idempotency-key': `${index}-${outcomes.length}-${Math.random()}` } : {};
      latest[index] = outcome(await client.chat({ model: 'm', max_tokens: 100, stream }, { headers }));
      outcomes.push(latest[index]);
      await sleep(5);
    }
  });
  await expect.poll(() => outcomes.length).toBeGreaterThan(50);
  await sql(gateway.stack.databaseUrl, 'alter function charge_generations rename to gone');
  await expect.poll(() => outcomes.at(-1)).toBe('503 no_capacity');
  await sleep(1_000);
  // Waits until the requests that were admitted before have ended.
  await expect.poll(() => new Set(latest)).toEqual(new Set(['503 no_capacity']));
  const asked = gateway.provider.requests('m').length;
  const before = outcomes.length;
  await expect.poll(() => outcomes.length).toBeGreaterThan(before + 50);
  // No further request was admitted.
  expect(gateway.provider.requests('m').length).toBe(asked);
  await sql(gateway.stack.databaseUrl, 'alter function gone rename to charge_generations');
  const refusedSoFar = outcomes.length;
  await expect.poll(() => outcomes.slice(refusedSoFar)).toContain('200');
  asking = false;
  await Promise.all(traffic);
  await untilNothingHeld(client);
  expect(new Set(outcomes)).toEqual(new Set(['200', '503 no_capacity']));
  const served = outcomes.filter((one) => one === '200').length;
  expect(await gateway.stack.operator.balance(organizationId)).toBeCloseTo(1 - served * COST, 9);
  expect(await sql(gateway.stack.databaseUrl, 'select * from dead_letters')).toEqual([]);
  await gateway.stack.operator.verifyLedger();
});
