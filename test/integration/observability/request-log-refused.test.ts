import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { countOmitted } from '#database/request-log/omitted-count.ts';
import { SILENT, sql } from '../../harness/database.ts';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { BY, type Customer } from '../../harness/operator.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/** Requests that are not charged write a bounded number of rows and lines. */
let database: ReturnType<typeof openDatabase>;

const gateway = withGateway({
  config: {
    providers: { fake: { base_url: 'http://127.0.0.1:1' } },
    models: { one: {} },
    limits: { refused_rpm: 3000 },
  },
});

beforeAll(async () => {
  database = openDatabase(gateway.stack.databaseUrl, SILENT);
});

afterAll(async () => {
  await database?.end();
});

/** Sends requests concurrently. Returns the number of each outcome. */
async function flood(client: GatewayClient, count: number, send: () => Promise<string>): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>();
  let left = count;
  const one = async () => {
    while (left-- > 0) {
      const was = await send();
      outcomes.set(was, (outcomes.get(was) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
  client.close();
  return outcomes;
}

async function totalOf({ organizationId }: Customer): Promise<number> {
  const [row] = await sql<{ requests: string }>(
    gateway.stack.databaseUrl,
    `select coalesce(sum(requests), 0)::text as requests from request_stats where organization_id = '${organizationId}'`,
  );
  return Number(row?.requests);
}

async function rowsOf({ organizationId }: Customer): Promise<number> {
  const [row] = await sql<{ rows: string }>(
    gateway.stack.databaseUrl,
    `select count(*)::text as rows from request_log where organization_id = '${organizationId}'`,
  );
  return Number(row?.rows);
}

const accessLines = (customer: Customer) =>
  gateway.stack
    .logs()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"') && line.includes(customer.keyId)).length;

/** Number of minutes that the flood touched. */
const minutesSince = (startedAtMs: number) => Math.floor(Date.now() / 60_000) - Math.floor(startedAtMs / 60_000) + 1;

test('5,000 requests with a revoked key write a few rows and lines, and the sums count all of them', async () => {
  const customer = await gateway.stack.operator.customer();
  const { organizationId } = customer;
  await gateway.stack.operator.administration.revokeKey(customer.keyId, BY);
  const client = gatewayClient(gateway.stack.origin, customer.key);
  const startedAtMs = Date.now();
  const outcomes = await flood(client, 5_000, async () => outcome(await client.get('/v1/models')));
  const minutes = minutesSince(startedAtMs);
  expect([...outcomes.keys()].filter((was) => !/^(401 key_revoked|429 rpm_exceeded)$/.test(was))).toEqual([]);
  expect(outcomes.get('401 key_revoked')).toBeGreaterThanOrEqual(3_000);
  await expect.poll(() => totalOf(customer)).toBe(5_000);
  const rows = await rowsOf(customer);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual(10 * minutes);
  expect(await countOmitted(database, { organizationId })).toEqual({ leftOut: 5_000 - rows });
  await expect.poll(() => accessLines(customer)).toBe(rows);
});

test('a usable key writes a hundred rows of refused requests a minute, and one for each served request', async () => {
  const customer = await gateway.stack.operator.customer();
  const { organizationId } = customer;
  const client = gatewayClient(gateway.stack.origin, customer.key);
  const startedAtMs = Date.now();
  let i = 0;
  const outcomes = await flood(client, 900, async () => {
    i += 1;
    if (i % 3 === 0) return outcome(await client.get('/v1/models?a=b'));
    if (i % 3 === 1) return outcome(await client.chat({ model: 'unheard' }));
    return outcome(await client.get('/v1/models'));
  });
  const minutes = minutesSince(startedAtMs);
  expect(outcomes.get('200')).toBe(300);
  await expect.poll(() => totalOf(customer)).toBe(900);
  const rows = await rowsOf(customer);
  expect(rows).toBeGreaterThanOrEqual(300 + 100);
  expect(rows).toBeLessThanOrEqual(300 + 100 * minutes);
  expect(await countOmitted(database, { organizationId })).toEqual({ leftOut: 900 - rows });
  expect(await countOmitted(database, { organizationId, outcome: 'succeeded' })).toEqual({ leftOut: 0 });
  await expect.poll(() => accessLines(customer)).toBe(rows);
});

test('requests with unknown keys share one bound of lines', async () => {
  const client = gatewayClient(gateway.stack.origin, 'sk-gw-nobody');
  const startedAtMs = Date.now();
  await flood(client, 300, async () => outcome(await client.get('/v1/models')));
  // The process writes its lines in order, so after the line of a later request those of the
  // flood are complete.
  const last = await gateway.stack.operator.customer();
  const later = gatewayClient(gateway.stack.origin, last.key);
  expect(outcome(await later.get('/v1/models'))).toBe('200');
  later.close();
  await expect.poll(() => accessLines(last)).toBe(1);
  const lines = gateway.stack
    .logs()
    .split('\n')
    .filter((line) => line.includes('"code":"invalid_api_key"')).length;
  expect(lines).toBeGreaterThan(0);
  expect(lines).toBeLessThanOrEqual(100 * minutesSince(startedAtMs));
});
