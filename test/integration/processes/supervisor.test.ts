import { execFile } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { PATIENCE_MS } from '../../fixtures/patience.ts';
import { REPOSITORY } from '../../harness/deployment.ts';
import {
  allGoneWithin,
  chat,
  type Home,
  launch,
  makeHome,
  runCurlLine,
  type Service,
  startService,
  statusOfModels,
} from '../../harness/service.ts';

const homes: Home[] = [];

afterEach(async () => {
  for (const home of homes.splice(0)) await home.remove();
});

async function newHome(owner?: number): Promise<Home> {
  const home = await makeHome(owner);
  homes.push(home);
  return home;
}

/** integration/processes/crash judges how fast that is. */
async function servedAgain(home: Home, service: Service): Promise<void> {
  const began = performance.now();
  let failed = false;
  while (performance.now() - began < 60_000) {
    const status = await statusOfModels(home, service).catch(() => 0);
    if (status !== 200) failed = true;
    else if (failed) return;
    await sleep(10);
  }
  throw new Error(failed ? 'not served again' : 'always served');
}

test('starts from nothing, streams by the printed line, survives kills, drains on Ctrl-C, keeps its data', async () => {
  const home = await newHome();
  const service = await startService(home);
  const streamed = runCurlLine(service.output());
  expect(streamed).toContain('chat.completion.chunk');
  expect(streamed.endsWith('data: [DONE]\n\n')).toBe(true);

  // A start ends only its own children, so the second start must not touch the first.
  const second = launch(home);
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(
    `A gateway already runs on the data folder ${home.env.GATEWAY_DATA} (process ${service.pid})`,
  );

  process.kill(service.childNamed('/postgres').pid, 'SIGKILL');
  await servedAgain(home, service);

  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(REPOSITORY, 'operator/main.ts'), 'org', 'list', '--json'],
    {
      cwd: REPOSITORY,
      env: home.env,
    },
  );
  expect(JSON.stringify(JSON.parse(stdout))).toContain('"Demo"');

  const processes = service.processes();
  const inFlight = chat(home, service, 'Tell me about yourself at some length, please.');
  await sleep(100);
  process.kill(-service.pid, 'SIGINT');
  // npm passes on what the terminal has sent already: still one Ctrl-C.
  process.kill(service.pid, 'SIGINT');
  expect(await inFlight).toMatchObject({ status: 200, text: expect.stringMatching(/data: \[DONE\]\n\n$/) });
  expect(await service.exited).toBe(0);
  expect(await allGoneWithin(processes, 10_000)).toEqual([]);

  const again = await startService(home);
  expect(again.demoKey).toBeUndefined();
  expect(again.output()).toContain('key create');
  expect(await statusOfModels(home, service)).toBe(200);
  await again.end('SIGTERM', PATIENCE_MS);
  expect(await again.exited).toBe(0);
});

test.each(['api', 'metrics', 'dashboard'] as const)(
  'a taken port of listen.%s: a clear message, exit 1, nothing left',
  async (name) => {
    const home = await newHome();
    const port = { api: home.apiPort, metrics: home.metricsPort, dashboard: home.dashboardPort }[name];
    const taker = createServer().listen(port, '127.0.0.1');
    const main = launch(home);
    expect(await main.exited).toBe(1);
    expect(main.output().trim()).toBe(
      `Port ${port} is already in use (listen.${name}: 127.0.0.1:${port} in ${home.env.GATEWAY_CONFIG}). Stop what uses it, or set another port there.`,
    );
    taker.close();
    expect(existsSync(join(home.folder, 'data', 'postgres'))).toBe(false);
  },
);

test('a configuration that is refused: where and why, exit 1', async () => {
  const home = await newHome();
  writeFileSync(join(home.folder, 'gateway.yaml'), 'listen: {api: nonsense}\n');
  const main = launch(home);
  expect(await main.exited).toBe(1);
  expect(main.output()).toContain(`${home.env.GATEWAY_CONFIG}:1:15: listen.api`);
});

test.skipIf(process.getuid?.() !== 0)("as an ordinary user; and as root on that user's folder", async () => {
  const home = await newHome(65_534);
  const service = await startService(home, {}, 65_534);
  expect(await statusOfModels(home, service)).toBe(200);
  await service.end('SIGTERM', PATIENCE_MS);
  expect(await service.exited).toBe(0);

  // PostgreSQL refuses a folder that is not its user's own, and it refuses root.
  const asRoot = await startService(home);
  expect(statSync(`/proc/${asRoot.childNamed('/postgres').pid}`).uid).toBe(65_534);
  expect(await statusOfModels(home, service)).toBe(200);
  await asRoot.end('SIGTERM', PATIENCE_MS);
});
