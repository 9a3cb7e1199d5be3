import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { embeddedDatabaseUrl, type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#supervisor/postgres/embedded-postgres.ts';
import { BY, sql } from '../harness/database.ts';
import { migratedFor } from '../harness/database-logins.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { signalAll, withChildren } from '../launchers/process-tree.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { missingInstalledPostgres, startInstalledPostgres } from './installed-postgres.ts';

/**
 * Takes the backups of docs/operating.md under load, restores them, and checks the gateway on the
 * restored database.
 */
const LOAD_MS = process.env.CI === 'true' ? 6_000 : 4_000;
const BACK_WITHIN_MS = 20_000;

const run = promisify(execFile);

let provider: FakeProvider;
let stack: Stack;
let client: GatewayClient;
const folder = mkdtempSync(join(tmpdir(), 'gw-backup-'));

beforeAll(async () => {
  provider = await startFakeProvider({ record: false });
  provider.script('exact', plannedAnswer);
});
afterAll(async () => {
  await provider?.close();
  rmSync(folder, { recursive: true, force: true });
});
showLogsOnFailure(() => stack);

async function startGateway(postgresSocketDir: string): Promise<void> {
  stack = await startStack({
    postgresSocketDir,
    config: { providers: { fake: { base_url: provider.baseUrl } }, models: { exact: PLANNED_MODEL } },
  });
  const { key } = await stack.operator.customer();
  client = gatewayClient(stack.origin, key);
}

const askOnce = async (as = client): Promise<string> =>
  outcome(await as.chat({ model: 'exact', max_tokens: 100, messages: [{ role: 'user', content: 'plan 2' }] }));

async function untilServed(): Promise<void> {
  await expect.poll(() => askOnce(), { timeout: BACK_WITHIN_MS }).toBe('200');
}

async function operate(databaseUrl: string, ...command: readonly string[]): Promise<Record<string, unknown>> {
  const args = [join(REPOSITORY, 'operator/main.ts'), ...command, '--json'];
  const env = { ...process.env, ...stack.env, DATABASE_URL: databaseUrl };
  // A report with problems is on standard output too; the exit status is then 1.
  const { stdout } = await run(process.execPath, args, { cwd: REPOSITORY, env }).catch(
    (ended: { stdout: string }) => ended,
  );
  return JSON.parse(stdout);
}

const epochIn = async (url: string): Promise<unknown> => (await sql(url, 'select epoch from ledger_state'))[0]?.epoch;

requirement(missingInstalledPostgres(), () => {
  test('a dump taken under load and restored on another server is complete, and a running gateway continues on it', {
    timeout: 120_000,
  }, async () => {
    const [lost, fresh] = [await startInstalledPostgres(), await startInstalledPostgres()];
    const address = join(folder, 'address');
    symlinkSync(lost.socketDir, address);
    try {
      await startGateway(address);
      const poor = gatewayClient(stack.origin, (await stack.operator.customer({ credit: '0.0004' })).key);
      const { key: richKey, organizationId: richId } = await stack.operator.customer({ credit: '0.00000001' });
      const rich = gatewayClient(stack.origin, richKey);
      const name = /@\/(\w+)/.exec(stack.databaseUrl)?.[1] ?? '';
      const dump = join(folder, 'gateway.dump');
      const backupUrl = await migratedFor(stack.databaseUrl, 'gateway_backup');
      const backupLogin = /\/\/(\w+)@/.exec(backupUrl)?.[1] ?? '';
      const loading = plannedLoad([client], performance.now() + LOAD_MS);
      await sleep(LOAD_MS / 3);
      await expect.poll(() => sql(stack.databaseUrl, 'select from generations limit 1')).toHaveLength(1);
      await lost.tool('pg_dump', '--username', backupLogin, '--format=custom', '--file', dump, name);
      const loaded = await loading;
      await expect.poll(() => askOnce(poor)).toBe('402 insufficient_credits');
      // Credit that the dump lacks: the process keeps a higher sequence in memory, and a balance
      // that will be gone.
      await stack.operator.administration.credit(
        richId,
        { amountNanoUsd: 1_000_000_000n, note: 'after the dump', reference: 'after the dump' },
        BY,
      );
      await expect.poll(() => askOnce(rich)).toBe('200');
      const restoredUrl = stack.databaseUrl.replace(encodeURIComponent(address), encodeURIComponent(fresh.socketDir));

      // The lost server stays in use while the dump is restored on the other one.
      await fresh.tool('createdb', name);
      await fresh.tool('pg_restore', '--no-owner', '--no-acl', '--exit-on-error', '--dbname', name, dump);
      // `renew-epoch` is deliberately not run.
      expect(await operate(restoredUrl, 'migrate')).toMatchObject({ ok: true });
      const verified = await operate(restoredUrl, 'ledger', 'verify');
      expect(verified).toMatchObject({ dead_letters: 0 });
      // The moment of the dump may lie between the row of a request and its charge, which the
      // running process makes below. Nothing else may be missing.
      const rules = (verified.differences as { rule: string }[]).map(({ rule }) => rule);
      expect(rules).toEqual(rules.map(() => 'every request that was logged with a cost has its generation'));
      // The backup was taken during the load, so it has some generations and lacks later ones.
      expect(verified.generations).toBeGreaterThan(0);
      expect(verified.generations).toBeLessThan(loaded.complete.size);

      await lost.stop();
      symlinkSync(fresh.socketDir, `${address}.new`);
      renameSync(`${address}.new`, address);
      // The process that kept running repeats the charges made after the dump.
      await untilServed();
      await expectCharged(stack.databaseUrl, loaded);
      expect(await askOnce(poor)).toBe('402 insufficient_credits');
      expect(await askOnce(rich)).toBe('402 insufficient_credits');
      for (const one of [poor, rich]) one.close();
      await stack.restartGateway('SIGTERM');
      await untilServed();
      await untilSettled(stack, BACK_WITHIN_MS);
      await stack.operator.verifyLedger();
    } finally {
      client?.close();
      await stack?.close();
      await fresh.stop();
    }
  });
});

test('a copy of the files and the archived WAL restore every charge', { timeout: 120_000 }, async () => {
  const paths = runtimePaths({ GATEWAY_DATA: join(folder, 'data') });
  const [archive, copy] = [join(folder, 'archive'), join(folder, 'copy')];
  for (const path of [paths.dataDir, archive]) mkdirSync(path, { recursive: true });
  // If tests run as root, the server runs as another user.
  chmodSync(archive, 0o777);
  const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f`, wal_level: 'replica' };
  let server: EmbeddedPostgres = await startEmbeddedPostgres(paths, { settings: archiving });
  try {
    await startGateway(paths.socketDir);
    const loading = plannedLoad([client], performance.now() + LOAD_MS);
    await sleep(LOAD_MS / 3);
    await copyWhileRunning(paths, copy);
    const tally = await loading;
    await untilSettled(stack, BACK_WITHIN_MS);
    const before = await epochIn(stack.databaseUrl);
    await untilArchived(paths);

    signalAll(withChildren(server.pid), 'SIGKILL');
    await server.exited;
    rmSync(paths.postgresDir, { recursive: true });
    renameSync(copy, paths.postgresDir);
    writeFileSync(join(paths.postgresDir, 'recovery.signal'), '');
    server = await startEmbeddedPostgres(paths, { settings: { restore_command: `cp ${archive}/%f %p` } });

    await untilServed();
    await expectCharged(stack.databaseUrl, tally);
    expect(tally.complete.size).toBeGreaterThan(50);
    await stack.operator.verifyLedger();
    // A running process notices the restore without `renew-epoch`, because the server's timeline
    // has changed.
    expect(await epochIn(stack.databaseUrl)).not.toBe(before);
  } finally {
    client?.close();
    await stack?.close();
    await server.stop();
  }
});

test('a process that starts on an earlier copy of the files, without recovery, makes its charges again', {
  timeout: 120_000,
}, async () => {
  const paths = runtimePaths({ GATEWAY_DATA: join(folder, 'snapshot') });
  const snapshot = join(folder, 'snapshot-copy');
  mkdirSync(paths.dataDir, { recursive: true });
  let server: EmbeddedPostgres = await startEmbeddedPostgres(paths);
  try {
    await startGateway(paths.socketDir);
    expect(await askOnce()).toBe('200');
    await untilSettled(stack, BACK_WITHIN_MS);
    await server.stop();
    await run('cp', ['-a', paths.postgresDir, snapshot]);
    server = await startEmbeddedPostgres(paths);
    await untilServed();
    const tally = await plannedLoad([client], performance.now() + LOAD_MS);
    await untilSettled(stack, BACK_WITHIN_MS);

    await stack.restartGateway('SIGTERM', async () => {
      await server.stop();
      rmSync(paths.postgresDir, { recursive: true });
      renameSync(snapshot, paths.postgresDir);
      server = await startEmbeddedPostgres(paths);
    });
    await expectCharged(stack.databaseUrl, tally);
    expect(tally.complete.size).toBeGreaterThan(50);
    await stack.operator.verifyLedger();
  } finally {
    client?.close();
    await stack?.close();
    await server.stop();
  }
});

/**
 * Replaces pg_basebackup, which the embedded server lacks: it copies the files between the start
 * and stop calls of one session, and adds the label that the stop call returns.
 */
async function copyWhileRunning(paths: RuntimePaths, to: string): Promise<void> {
  const session = new pg.Client({ connectionString: embeddedDatabaseUrl(paths, 'postgres') });
  await session.connect();
  try {
    await session.query("select pg_backup_start('copy', true)");
    await run('cp', ['-a', paths.postgresDir, to]);
    const { rows } = await session.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
    writeFileSync(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await session.end();
  }
  for (const running of ['postmaster.pid', 'pg_wal']) rmSync(join(to, running), { recursive: true });
  await run('cp', ['-a', join(paths.postgresDir, 'pg_wal'), to]);
}

async function untilArchived(paths: RuntimePaths): Promise<void> {
  const url = embeddedDatabaseUrl(paths, 'postgres');
  const [row] = await sql<{ name: string }>(url, 'select pg_walfile_name(pg_switch_wal()) as name');
  const last = async () =>
    (await sql<{ name: string }>(url, 'select last_archived_wal as name from pg_stat_archiver'))[0]?.name ?? '';
  await expect.poll(last, { timeout: BACK_WITHIN_MS }).toSatisfy((name: string) => name >= basename(row?.name ?? ''));
}
