import { execFile } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
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

test('starts from nothing, streams by the printed line, survives kills, drains on Ctrl-C, keeps its data', async () => {
  const home = await newHome();
  const service = await startService(home);
  const streamed = runCurlLine(service.output());
  expect(streamed).toContain('chat.completion.chunk');
  expect(streamed.endsWith('data: [DONE]\n\n')).toBe(true);

  // A start ends only its own children, so the failed second start does not affect the first.
  const second = launch(home);
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(
    `A gateway already runs on the data folder ${home.env.GATEWAY_DATA} (process ${service.pid})`,
  );

  const database = () => service.childNamed('/postgres').pid;
  const killed = database();
  process.kill(killed, 'SIGKILL');
  await expect.poll(database).not.toBe(killed);
  // The command fails while the database starts.
  const listed = async () => {
    const args = [join(REPOSITORY, 'operator/main.ts'), 'org', 'list', '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: REPOSITORY, env: home.env });
    return JSON.stringify(JSON.parse(stdout));
  };
  await expect.poll(listed).toContain('"Demo"');
  await expect.poll(() => statusOfModels(home, service).catch(() => 0)).toBe(200);

  const processes = service.processes();
  const begun = Promise.withResolvers<void>();
  const inFlight = chat(home, service, 'Tell me about yourself at some length, please.', begun.resolve);
  await begun.promise;
  process.kill(-service.pid, 'SIGINT');
  // npm forwards the signal that the terminal has sent already. Both count as one Ctrl-C.
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
  'a taken port of listen.%s is named in a message, with exit code 1 and no data left behind',
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

test('an invalid configuration is refused with position and reason, and exit code 1', async () => {
  const home = await newHome();
  writeFileSync(join(home.folder, 'gateway.yaml'), 'listen: {api: nonsense}\n');
  const main = launch(home);
  expect(await main.exited).toBe(1);
  expect(main.output()).toContain(`${home.env.GATEWAY_CONFIG}:1:15: listen.api`);
});

test.skipIf(process.getuid?.() !== 0)("runs as an ordinary user, and as root on that user's folder", async () => {
  const home = await newHome(65_534);
  const service = await startService(home, {}, 65_534);
  expect(await statusOfModels(home, service)).toBe(200);
  await service.end('SIGTERM', PATIENCE_MS);
  expect(await service.exited).toBe(0);

  // PostgreSQL refuses to run as root, or on a folder of another user.
  const asRoot = await startService(home);
  expect(statSync(`/proc/${asRoot.childNamed('/postgres').pid}`).uid).toBe(65_534);
  expect(await statusOfModels(home, service)).toBe(200);
  await asRoot.end('SIGTERM', PATIENCE_MS);
});
