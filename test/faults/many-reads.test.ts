import { Agent, request } from 'node:http';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { utcDayText } from '#core/clock.ts';
import { fillUsage } from '../contract/fill-usage.ts';
import { DAY } from '../harness/database.ts';
import { errorOf, type GatewayClient, gatewayClient, jsonOf, outcome } from '../harness/gateway-client.ts';
import { withGateway } from '../harness/with-gateway.ts';

const KEYS = 40;
const READS_AT_ONCE = 400;
const USAGE_KEYS = 300;
const USAGE_DAYS = 100;

let attacker: { readonly organizationId: string; readonly key: string };
const gateway = withGateway({
  config: {
    models: { one: {} },
    limits: { read_rpm: 1_000_000 },
  },
});

beforeAll(async () => {
  attacker = await gateway.stack.operator.customer();
  await fillUsage(gateway.stack.databaseUrl, attacker.organizationId, USAGE_KEYS, USAGE_DAYS);
});

const usagePath = (days: number, groups = 'day,key'): string =>
  `/v1/usage?start_date=${utcDayText(DAY - days + 1)}&end_date=${utcDayText(DAY)}&group_by=${groups}`;

interface UsageBody {
  readonly data: readonly { readonly date: string; readonly api_key_id: string; readonly cost: number }[];
  readonly total: { readonly requests: number; readonly tokens_prompt: number; readonly cost: number };
}

test('a large usage response is complete, and one that is too large is refused with advice', async () => {
  const client = gatewayClient(gateway.stack.origin, attacker.key);
  const received = await client.get(usagePath(USAGE_DAYS));
  expect(received.headers['content-length']).toBe(String(received.body.length));
  const { data, total } = jsonOf<UsageBody>(received);
  expect(new Set(data.map(({ date, api_key_id }) => `${date} ${api_key_id}`)).size).toBe(USAGE_KEYS * USAGE_DAYS);
  expect(total).toMatchObject({ requests: data.length, tokens_prompt: 2 * data.length });
  // On each day key number k costs a million USD and k nano-dollars.
  const nanos = (USAGE_DAYS * USAGE_KEYS * (USAGE_KEYS + 1)) / 2;
  expect(total.cost).toBe(USAGE_DAYS * USAGE_KEYS * 1_000_000 + nanos / 1e9);

  const many = await gateway.stack.operator.customer();
  await fillUsage(gateway.stack.databaseUrl, many.organizationId, 1000, 101);
  const reader = gatewayClient(gateway.stack.origin, many.key);
  const refused = await reader.get(usagePath(101));
  expect([outcome(refused), errorOf(refused).param]).toEqual(['400 invalid_request', 'group_by']);
  expect(errorOf(refused).message).toContain('narrow start_date and end_date');
  expect(jsonOf<UsageBody>(await reader.get(usagePath(100))).data.length).toBe(100_000);
  expect(jsonOf<UsageBody>(await reader.get(usagePath(101, 'day'))).total.requests).toBe(101_000);
  client.close();
  reader.close();
});

test('usage whose sums take longer than ten seconds is refused with advice, because a retry would not help', async () => {
  const locker = new pg.Client({ connectionString: gateway.stack.databaseUrl });
  await locker.connect();
  const client = gatewayClient(gateway.stack.origin, attacker.key);
  try {
    await locker.query('begin; lock table user_usage');
    const refused = await client.get(usagePath(USAGE_DAYS, 'user'));
    expect([outcome(refused), errorOf(refused).param]).toEqual(['400 invalid_request', 'start_date']);
  } finally {
    await locker.end();
    client.close();
  }
});

/** Resolves with the status, or with the reason why there is none. */
function read(agent: Agent, path: string, key: string): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    const outgoing = request(`${gateway.stack.origin}${path}`, { agent, headers }, (response) => {
      response.on('end', () => resolve(String(response.statusCode)));
      response.on('error', (error) => resolve(error.message));
      response.resume();
    });
    outgoing.on('error', (error) => resolve(error.message));
    outgoing.end();
  });
}

async function eachOf(client: GatewayClient): Promise<readonly string[]> {
  const keyed = { headers: { 'idempotency-key': crypto.randomUUID() } };
  const received = [
    await client.chat({ model: 'one' }),
    await client.chat({ model: 'one' }, keyed),
    await client.get('/v1/credits'),
    await client.get('/v1/usage'),
    await client.get(`/v1/generation?id=gen-00000000000000000000000000`),
  ];
  return received.map(outcome);
}

test('an organization that reads with many keys as fast as it can affects neither reads nor completions of another', async () => {
  const more = await Promise.all(
    Array.from({ length: KEYS - 1 }, () => gateway.stack.operator.addKey(attacker.organizationId)),
  );
  const keys = [attacker.key, ...more.map(({ key }) => key)];
  const other = gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer()).key);
  const served = ['200', '200', '200', '200', '404 generation_not_found'];
  expect(await eachOf(other)).toEqual(served);

  const agent = new Agent({ keepAlive: true, maxSockets: READS_AT_ONCE });
  const paths = [
    usagePath(USAGE_DAYS),
    '/v1/credits',
    usagePath(1),
    `/v1/generation?id=gen-00000000000000000000000001`,
  ];
  const seen: Record<string, number> = {};
  let goesOn = true;
  const reading = Array.from({ length: READS_AT_ONCE }, async (_, index) => {
    for (let turn = index; goesOn; turn += READS_AT_ONCE + 1) {
      const status = await read(agent, paths[turn % paths.length] ?? '', keys[turn % KEYS] ?? '');
      seen[status] = (seen[status] ?? 0) + 1;
    }
  });
  await expect.poll(() => seen['200'] ?? 0).toBeGreaterThan(0);
  for (let round = 0; round < 15; round++) expect(await eachOf(other)).toEqual(served);
  goesOn = false;
  await Promise.all(reading);
  agent.destroy();
  expect(Object.keys(seen).filter((status) => !['200', '404', '429', '503'].includes(status))).toEqual([]);
  // How many are refused depends on the machine. core/fairness/turns.test.ts tests the bound.
  expect(seen['200'] ?? 0).toBeGreaterThan(0);
  expect(gateway.stack.logs()).not.toContain('"level":"error"');
  other.close();
});
