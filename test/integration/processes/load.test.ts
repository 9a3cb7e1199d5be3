import { expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { opened } from '../../harness/opened.ts';
import { loadJob, withSilentClients } from '../../load/checks.ts';
import { startLoadStack } from '../../load/load-stack.ts';

/** Large enough to trigger rapid-reset protection, after about 1,000 requests on a connection. */
const REQUESTS = process.env.CI === 'true' ? 4_000 : 2_000;
const STREAM_CLIENTS = process.env.CI === 'true' ? 30 : 10;

const load = opened(() => startLoadStack(inject('postgresSocketDir')));

showLogsOnFailure(() => load.stack);

test(`${REQUESTS} requests at 64 in flight: no error`, async () => {
  const result = await load.generator.run(loadJob(load.target, 'json', { concurrency: 64, requests: REQUESTS }));
  expect(result).toMatchObject({ good: REQUESTS, faults: {} });
});

test('400 concurrent paced streams: no error and no late stream', async () => {
  const result = await load.generator.run(loadJob(load.target, 'paced-stream', { concurrency: 400, requests: 400 }));
  expect(result).toMatchObject({ good: 400, faults: {} });
});

const MIB = 1024 * 1024;

test.each([
  { model: 'big-stream', clients: STREAM_CLIENTS, gatewayBound: 200 * MIB },
  // Complete responses stay in memory until they are read. Those without room are refused, so
  // that the process stays within its bound.
  { model: 'big-json', clients: 30, gatewayBound: 1024 * MIB },
] as const)(
  '$clients clients that never read 50 MB ($model): memory stays bounded',
  async ({ model, clients, gatewayBound }) => {
    const result = await withSilentClients(load.target, load.generator, model, clients, 1500);
    expect(result.faults).toEqual({});
    expect(result.envoyGrowthBytes).toBeLessThan(100 * MIB);
    expect(result.gatewayGrowthBytes).toBeLessThan(gatewayBound);
  },
);

test('after all of these requests every charge is in the ledger once', async () => {
  await load.stack.operator.verifyLedger();
});
