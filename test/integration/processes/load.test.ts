import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { startHostileStack } from '../../faults/hostile-stack.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { opened } from '../../harness/opened.ts';
import { residentBytes } from '../../harness/process-cpu.ts';
import { loadJob } from '../../load/checks.ts';
import { startGenerator } from '../../load/children.ts';
import { openSilentClients } from '../../load/silent-clients.ts';

/** Large enough to trigger rapid-reset protection, after about 1,000 requests on a connection. */
const REQUESTS = process.env.CI === 'true' ? 4_000 : 2_000;
const LONG = { first_byte: '60s', stream_idle: '60s', total: '120s' };

const here = opened(() => startHostileStack({ postgresSocketDir: inject('postgresSocketDir'), timeouts: LONG }));
const generator = opened(startGenerator);

showLogsOnFailure(() => here);

test(`${REQUESTS} requests at 64 in flight: no error`, async () => {
  const result = await generator.run(loadJob(here.others, 'json', { concurrency: 64, requests: REQUESTS }));
  expect(result).toMatchObject({ good: REQUESTS, faults: {} });
});

test('400 concurrent paced streams: no error and no late stream', async () => {
  const result = await generator.run(loadJob(here.others, 'paced-stream', { concurrency: 400, requests: 400 }));
  expect(result).toMatchObject({ good: 400, faults: {} });
});

const MIB = 1024 * 1024;

// A stream that is not read is the rule of faults/never-reading-clients. Complete responses stay in
// memory until they are read. Those without room are refused, so that the process stays within its
// bound.
test('30 clients that never read 50 MB of JSON: memory stays bounded', async () => {
  const pids = [here.stack.envoy.pid, here.stack.gateway.pid];
  const before = pids.map(residentBytes);
  const others = { concurrency: 4, requests: 200 };
  const { origin, key } = here.attacker;
  const clients = await openSilentClients(origin, key, loadJob(here.attacker, 'big-json', others).body, 30);
  await sleep(1_500);
  const { faults } = await generator.run(loadJob(here.others, 'json', others));
  const [envoy, gateway] = pids.map((pid, index) => residentBytes(pid) - (before[index] ?? 0));
  clients.close();
  expect(faults).toEqual({});
  expect(envoy).toBeLessThan(100 * MIB);
  expect(gateway).toBeLessThan(1024 * MIB);
});

test('after all of these requests every charge is in the ledger once', async () => {
  await here.stack.operator.verifyLedger();
});
