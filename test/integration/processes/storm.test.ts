import pg from 'pg';
import { expect, test } from 'vitest';
import { dice } from '../../fixtures/seeded-numbers.ts';
import { gatewayClient, untilNothingHeld } from '../../harness/gateway-client.ts';
import { untilShipped } from '../../harness/shipped.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import {
  endWithoutDone,
  errorAnswer,
  errorEvent,
  htmlBadGateway,
  plainAnswer,
  reset,
  slowly,
  streamAnswer,
  streamThen,
} from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';

const gateway = withGateway((provider) => ({
  config: {
    providers: {
      abort: { base_url: provider.baseUrl, on_disconnect: 'abort' },
      drain: { base_url: provider.baseUrl, on_disconnect: 'drain' },
    },
    models: {
      abort: { targets: [{ provider: 'abort', model: 'any' }] },
      drain: { targets: [{ provider: 'drain', model: 'any' }] },
    },
  },
}));

const ACTS: readonly Act[] = [
  plainAnswer,
  plainAnswer,
  plainAnswer,
  streamAnswer({ paceMs: 10 }),
  slowly(50, plainAnswer),
  streamThen(3, reset),
  streamThen(2, endWithoutDone),
  streamThen(2, errorEvent()),
  errorAnswer(429, 'busy'),
  errorAnswer(500, 'broken'),
  htmlBadGateway,
  reset,
];

const REQUESTS = 600;
const AT_ONCE = 50;

test('after a storm of failures and disconnects nothing is held, and every balance matches its charges', async () => {
  const roll = dice(20_261_121);
  gateway.provider.script('any', (call) => ACTS[roll(ACTS.length)]?.(call));
  // The second has little credit, so that some requests get 402.
  const customers = [
    await gateway.stack.operator.customer(),
    await gateway.stack.operator.customer({ credit: '0.02' }),
  ];
  const clients = customers.map(({ key }) => gatewayClient(gateway.stack.origin, key));
  const statuses: Record<string, number> = {};
  let left = REQUESTS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const body = { model: roll(2) === 0 ? 'abort' : 'drain', stream: roll(2) === 0, max_tokens: 1000 };
      const leaves = roll(4) === 0 ? { signal: AbortSignal.timeout(1 + roll(60)) } : {};
      const result = await clients[roll(clients.length)]?.chat(body, leaves).then(
        ({ status }) => String(status),
        () => 'left',
      );
      statuses[result ?? ''] = (statuses[result ?? ''] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));

  for (const client of clients) await untilNothingHeld(client);
  await gateway.stack.operator.verifyLedger();
  const charged = await chargesByOrganization();
  for (const [index, { organizationId }] of customers.entries()) {
    const balance = await gateway.stack.operator.balance(organizationId);
    const credit = index === 0 ? 100 : 0.02;
    expect(balance).toBeCloseTo(credit - (charged.get(organizationId) ?? 0), 9);
    expect(balance).toBeGreaterThanOrEqual(0);
  }
  // The storm had successes, failures, refusals and disconnects.
  expect(Object.keys(statuses).sort()).toEqual(['200', '402', '503', 'left']);
  expect(statuses['200']).toBeGreaterThan(REQUESTS / 5);
});

/** The cost of the generations in USD, read directly from the database. */
async function chargesByOrganization(): Promise<Map<string, number>> {
  await untilShipped(gateway.stack.paths);
  const client = new pg.Client({ connectionString: gateway.stack.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ organization_id: string; cost: string }>(
      'select organization_id, sum(cost_nano_usd)::text as cost from generations group by organization_id',
    );
    return new Map(rows.map(({ organization_id, cost }) => [organization_id, Number(cost) / 1e9]));
  } finally {
    await client.end();
  }
}
