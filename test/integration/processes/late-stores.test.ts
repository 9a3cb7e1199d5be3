import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { until } from '../../harness/cluster-fixture.ts';
import { sql } from '../../harness/database.ts';
import { COMPILE_CACHE, REPOSITORY } from '../../harness/deployment.ts';
import { type NewDatabase, newDatabase } from '../../harness/new-database.ts';
import { opened } from '../../harness/opened.ts';
import { startTestPostgres } from '../../harness/postgres-server.ts';
import { renderTestConfig } from '../../harness/test-config.ts';
import { startProcess, type TestProcess } from '../../launchers/child-process.ts';
import { freePorts } from '../../launchers/free-ports.ts';

/** Processes without a supervisor, as in a pod, which start before their stores. */

const postgres = opened(startTestPostgres);
let database: NewDatabase;
let processUrl: string;
const folder = mkdtempSync(join(tmpdir(), 'gw-'));

beforeAll(async () => {
  database = await newDatabase(postgres.socketDir, 'empty');
  processUrl = database.url.replace('//gateway@', '//late@');
  const [api = 0, metrics = 0, dashboard = 0] = await freePorts(3);
  const config = { providers: { p: { base_url: 'http://127.0.0.1:9/v1' } }, models: {} };
  writeFileSync(join(folder, 'gateway.yaml'), renderTestConfig(config, { api, metrics, dashboard }));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

function start(program: string): TestProcess {
  const env = { GATEWAY_CONFIG: join(folder, 'gateway.yaml'), GATEWAY_DATA: folder, DATABASE_URL: processUrl };
  return startProcess(process.execPath, [join(REPOSITORY, program)], {
    cwd: REPOSITORY,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Waits until the process logs that it waits for this reason. */
async function untilItWaits({ output, hasEnded }: TestProcess, reason: RegExp): Promise<void> {
  const says = () =>
    output()
      .split('\n')
      .filter((line) => line.includes('waiting for the stores'));
  await until(async () => says().some((line) => reason.test(line)) || hasEnded());
  expect(says().join('\n')).toMatch(reason);
  expect(output()).not.toMatch(/\n\s+at /);
}

test('the gateway process waits for PostgreSQL, its user, the schema and the rights, and then serves', async () => {
  await postgres.shutDown();
  const gateway = start('ext-proc/main.ts');
  try {
    await untilItWaits(gateway, /not reachable/);
    await postgres.restart();
    await untilItWaits(gateway, /role \\"late\\" does not exist/);
    await sql(database.url, 'create role late login');
    await untilItWaits(gateway, /Run `gateway migrate` first/);
    expect((await runCommandLine(['migrate'], { DATABASE_URL: database.url })).kind).toBe('done');
    await untilItWaits(gateway, /permission denied .* gives the rights/);
    await sql(database.url, 'grant gateway_process to late');
    await until(async () => gateway.output().includes('the gateway process listens'));
  } finally {
    await gateway.end();
  }
});

test.each(['ext-proc/main.ts', 'dashboard/server/main.ts'])('%s ends at once while it waits', async (program) => {
  await postgres.shutDown();
  const waiting = start(program);
  await untilItWaits(waiting, /not reachable/);
  waiting.child.kill('SIGTERM');
  expect(await waiting.exited).toBe(0);
  await postgres.restart();
});
