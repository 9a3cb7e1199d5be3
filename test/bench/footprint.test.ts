import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../harness/deployment.ts';
import { type Home, makeHome, type Service, startService } from '../harness/service.ts';
import { loadJob } from '../load/checks.ts';
import { type Generator, startGenerator } from '../load/children.ts';
import { memoryOf } from './memory-of-processes.ts';
import recorded from './recorded-footprint.json' with { type: 'json' };

/**
 * Bounds the memory of all processes of `npm start` and the time until it is ready. The record is
 * raised by hand when a change is worth its memory or time.
 */
const TOLERANCE = 1.15;

/** Each start takes some seconds. Other load on the machine can only make a start slower. */
const MOST_STARTS = 8;
/** Idle connections to PostgreSQL are closed after 60 s, and V8 collects garbage meanwhile. */
const RESTING = { timeout: 180_000, interval: 5_000 };
const LOAD = { concurrency: 64, requests: 3_000 };
const TYPESCRIPT = createRequire(import.meta.url).resolve('typescript-5');

let home: Home;
let generator: Generator;
let service: Service | undefined;

beforeAll(async () => {
  home = await makeHome();
  generator = await startGenerator();
});
afterAll(async () => {
  await generator?.stop();
  await service?.end('SIGTERM', 60_000);
  await home?.remove();
});

/**
 * The time until the banner, in units of a Node start that loads TypeScript, measured just before
 * and after.
 */
async function startsUntilReady(): Promise<number> {
  const before = startOfTypeScript();
  const began = performance.now();
  service = await startService(home);
  const readyMs = performance.now() - began;
  return readyMs / ((before + startOfTypeScript()) / 2);
}

/** The unit of time, because the speed of machines differs and varies. */
function startOfTypeScript(): number {
  const began = performance.now();
  execFileSync(process.execPath, [TYPESCRIPT], { env: { PATH: process.env.PATH }, timeout: 60_000 });
  return performance.now() - began;
}

const megabytes = (running: Service): number => memoryOf(running.processes().map(({ pid }) => pid)) / 1e6;

test(`a start, memory at rest and after load are within ${TOLERANCE} times the record`, {
  timeout: 900_000,
}, async () => {
  const bound = (figure: keyof typeof recorded): number => recorded[figure] * TOLERANCE;
  // The first start also creates the database, so it is not measured.
  let running = await startService(home);
  service = running;
  const { demoKey: key = '' } = running;

  const starts: number[] = [];
  do {
    await service.end('SIGTERM', 60_000);
    starts.push(await startsUntilReady());
    running = service;
  } while (Math.min(...starts) > bound('untilReady') && starts.length < MOST_STARTS);
  expect(Math.min(...starts), JSON.stringify(starts)).toBeLessThanOrEqual(bound('untilReady'));

  await expect.poll(() => megabytes(running), RESTING).toBeLessThanOrEqual(bound('atRestMb'));

  execFileSync(process.execPath, [join(REPOSITORY, 'operator/main.ts'), ...noLimit(running)], { env: home.env });
  const target = { origin: `http://127.0.0.1:${home.apiPort}`, key };
  const loaded = await generator.run(loadJob(target, 'demo-chat', LOAD));
  expect(loaded).toMatchObject({ good: LOAD.requests, faults: {} });
  await expect.poll(() => megabytes(running), RESTING).toBeLessThanOrEqual(bound('afterLoadMb'));
});

test('memory that a process has written to is counted', async () => {
  const filling = "process.on('message', (n) => { globalThis.kept = Buffer.alloc(n, 1); process.send(0); }).send(0)";
  const child = spawn(process.execPath, ['--eval', filling], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const memory = () => memoryOf([child.pid ?? 0]);
  await once(child, 'message');
  const before = memory();
  child.send(50e6);
  await once(child, 'message');
  const filled = memory() - before;
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(before).toBeGreaterThan(30e6);
  expect(filled).toBeGreaterThan(49e6);
  expect(filled).toBeLessThan(60e6);
});

/** Arguments of the command that removes the request limit of the banner's organization. */
function noLimit(running: Service): string[] {
  const [, organization = ''] = /--org (org-\w+)/.exec(running.output()) ?? [];
  return ['org', 'update', organization, '--rpm', 'none'];
}
