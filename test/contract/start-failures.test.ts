import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockFile } from '#core/lock/file-lock.mjs';
import { createDatabase } from '../harness/database.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { startProcess } from '../launchers/child-process.ts';
import { freePorts } from '../launchers/free-ports.ts';

/** Failures of a gateway process's start that are nobody's bug: one line says what is wrong. */
test.concurrent.each<[string, RegExp, (spool: string) => Promise<{ release(): void } | undefined>]>([
  [
    'a data folder that cannot be written',
    /^A file or an address cannot be used: EEXIST: .*spool'\.\n$/,
    async (spool) => void writeFileSync(spool, ''),
  ],
  [
    'the index of another process',
    /^Another process still writes the files of process 0 in .*\.\n$/,
    async (spool) => {
      mkdirSync(spool);
      return lockFile(join(spool, 'worker-0.lock'), 0);
    },
  ],
])('%s', async (_, said, prepare) => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-start-'));
  const lock = await prepare(join(folder, 'spool'));
  const [api, dashboard, metrics] = await freePorts(3);
  const config = join(folder, 'gateway.yaml');
  writeFileSync(
    config,
    `listen: {api: "127.0.0.1:${api}", dashboard: "127.0.0.1:${dashboard}", metrics: "127.0.0.1:${metrics}"}\n`,
  );
  const env = { ...process.env, GATEWAY_CONFIG: config, GATEWAY_DATA: folder, DATABASE_URL: await createDatabase() };
  const gateway = startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
    ...{ env, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  expect(await gateway.exited).toBe(1);
  expect(gateway.output()).toMatch(said);
  lock?.release();
  rmSync(folder, { recursive: true });
});

test.concurrent('more processes than the one that runs without a supervisor', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-start-'));
  const config = join(folder, 'gateway.yaml');
  writeFileSync(config, 'workers: 2\nstores: {redis: "redis://127.0.0.1:6379"}\n');
  const env = { ...process.env, GATEWAY_CONFIG: config, GATEWAY_DATA: folder };
  const gateway = startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
    ...{ env, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  expect(await gateway.exited).toBe(78);
  expect(gateway.output()).toMatch(/^workers: 2 needs the supervisor .*replicas.*\n$/);
  rmSync(folder, { recursive: true });
});
