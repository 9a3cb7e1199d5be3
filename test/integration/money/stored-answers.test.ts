import { beforeAll, expect, test } from 'vitest';
import { sql } from '../../harness/database.ts';
import { balanceOf, errorOf, type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer } from '../../provider/acts.ts';

const KIB = 1024;
const BOUND_BYTES = 1024 * KIB;
const ANSWERS = 40;
const USAGE = { prompt_tokens: 100, completion_tokens: 50 };
/** The cost of one response with USAGE at 1,000 nano-dollars a token. */
const COST = 0.00015;

const gateway = withGateway({
  config: {
    models: { one: {} },
    idempotency: { bytes_per_organization: '1MiB' },
  },
});

beforeAll(async () => {
  gateway.provider.script('one', jsonAnswer({ text: 'x'.repeat(100 * KIB), usage: USAGE }));
});

const ask = (client: GatewayClient, key: number | string, body: Record<string, unknown> = {}) =>
  client.chat({ model: 'one', ...body }, { headers: { 'idempotency-key': `key-${key}` } });

async function storedBytes(): Promise<readonly number[]> {
  const rows = await sql<{ bytes: number }>(
    gateway.stack.databaseUrl,
    'select sum(octet_length(response))::int as bytes from idempotency_keys group by organization_id order by 1',
  );
  return rows.map(({ bytes }) => bytes);
}

test('stored responses of an organization are bounded: the oldest are evicted, and their requests run and are charged again', async () => {
  const [client, other] = [
    gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer()).key),
    gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer()).key),
  ];
  await ask(other, 0);
  const first = await ask(client, 0);
  for (let key = 1; key < ANSWERS; key += 8)
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((index) => ask(client, key + index)));
  const last = await ask(client, 'last');
  const stored = await storedBytes();
  expect(stored.length).toBe(2);
  expect(stored[1]).toBeLessThanOrEqual(BOUND_BYTES);
  expect(stored[1]).toBeGreaterThan(BOUND_BYTES - 2 * 101 * KIB);

  const calls = gateway.provider.requests('one').length;
  const balance = await balanceOf(client);
  const again = await ask(client, 'last');
  expect([again.headers['idempotent-replayed'], again.body.equals(last.body)]).toEqual(['true', true]);
  expect((await ask(other, 0)).headers['idempotent-replayed']).toBe('true');
  expect(gateway.provider.requests('one').length).toBe(calls);

  const reused = await ask(client, 0, { temperature: 1 });
  expect([outcome(reused), errorOf(reused).code]).toEqual(['422 idempotency_key_reused', 'idempotency_key_reused']);
  const anew = await ask(client, 0);
  expect([anew.status, anew.headers['idempotent-replayed']]).toEqual([200, undefined]);
  expect(anew.headers['x-generation-id']).not.toBe(first.headers['x-generation-id']);
  expect((await ask(client, 0)).headers['x-generation-id']).toBe(anew.headers['x-generation-id']);
  expect(gateway.provider.requests('one').length).toBe(calls + 1);
  expect(await balanceOf(client)).toBeCloseTo(balance - COST, 9);
  await gateway.stack.operator.verifyLedger();
  client.close();
  other.close();
});

test('a replay whose stored bytes were changed is cut or refused, and never looks complete', async () => {
  const client = gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer()).key);
  gateway.provider.script('one', jsonAnswer({ text: 'y'.repeat(800 * KIB), usage: USAGE }));
  await ask(client, 'changed');
  await sql(
    gateway.stack.databaseUrl,
    `update idempotency_keys set response = overlay(response placing '\\x00000000' from 500000) where octet_length(response) > 800000`,
  );
  await expect(ask(client, 'changed')).rejects.toThrow();
  client.close();
});
