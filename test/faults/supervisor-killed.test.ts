import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { metric } from '../harness/metrics-page.ts';
import { allGoneWithin, chat, type Home, makeHome, startService, statusOfModels } from '../harness/service.ts';

/**
 * If `npm start` cannot stop cleanly, the processes that it started still end, and the next start
 * succeeds.
 */
let home: Home;

beforeEach(async () => {
  home = await makeHome();
});
afterEach(() => home.remove());

test('kill -9 of the supervisor leaves no process, and a start right afterwards serves the same data', async () => {
  const first = await startService(home);
  const processes = first.processes();
  expect(processes.length).toBeGreaterThan(8);
  process.kill(first.pid, 'SIGKILL');
  expect(await allGoneWithin(processes, 10_000)).toEqual([]);

  const second = await startService(home);
  const left = second.processes();
  process.kill(second.pid, 'SIGKILL');
  const third = await startService(home);
  expect(await allGoneWithin(left, 0)).toEqual([]);
  expect(await statusOfModels(home, first)).toBe(200);
  await third.end('SIGTERM', 15_000);
});

test('a second Ctrl-C does not wait for requests in flight, and still leaves no process', async () => {
  const service = await startService(home);
  const processes = service.processes();
  const inFlight = chat(home, service, 'fail: stall').catch(() => undefined);
  await expect.poll(() => metric(`http://127.0.0.1:${home.metricsPort}`, 'gateway_requests_in_flight')).toBe(1);
  process.kill(service.pid, 'SIGINT');
  await expect.poll(() => service.output()).toContain('a second Ctrl-C stops at once');
  // Signals within a second count as one.
  await sleep(1_200);
  expect(service.hasEnded()).toBe(false);
  process.kill(service.pid, 'SIGINT');
  expect(await service.exited).toBe(1);
  expect(await allGoneWithin(processes, 5_000)).toEqual([]);
  await inFlight;
});

test('a stale lock file of PostgreSQL with the id of a living process does not matter', async () => {
  const service = await startService(home);
  const lockFile = join(home.folder, 'data', 'postgres', 'postmaster.pid');
  const content = readFileSync(lockFile, 'utf8');
  await service.end('SIGTERM', 15_000);
  writeFileSync(lockFile, content.replace(/^\d+/, String(process.pid)));

  const again = await startService(home);
  expect(await statusOfModels(home, service)).toBe(200);
  await again.end('SIGTERM', 15_000);
});
