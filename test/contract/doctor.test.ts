import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openProcessReports, type ProcessReports } from '#database/process-reports/process-reports.ts';
import type { ProcessReport, ReportingProcess } from '#database/process-reports/report.ts';
import { runCommandLine } from '#operator/command-line.ts';
import type { Finding } from '#operator/doctor/check.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { configurationWith, reportWith } from '../fixtures/process-report.ts';
import { addCustomer, createDatabase, createEmptyDatabase, openStore, settlementOf, sql } from '../harness/database.ts';
import { COMPILE_CACHE } from '../harness/deployment.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { freePorts } from '../launchers/free-ports.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-doctor-'));
const configPath = join(folder, 'gateway.yaml');
const env = (more: Record<string, string>) => ({ GATEWAY_CONFIG: configPath, GATEWAY_DATA: folder, ...more });
beforeAll(async () => {
  const [api, dashboard, metrics] = await freePorts(3);
  const listen = `{api: "127.0.0.1:${api}", dashboard: "127.0.0.1:${dashboard}", metrics: "127.0.0.1:${metrics}"}`;
  writeFileSync(configPath, `listen: ${listen}\nproviders: {}\nmodels: {}\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Told {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly text: string;
}

async function doctor(more: Record<string, string>): Promise<Told> {
  const result = await runCommandLine(['doctor'], env(more));
  if (result.kind === 'usage') throw new Error(result.message);
  const text = result.kind === 'done' ? result.text : result.message;
  return { ...(result.json as Omit<Told, 'text'>), text };
}

/** The doctor's findings of one check: `ok`, or another verdict with its text. */
async function of(check: string, more: Record<string, string>): Promise<string[]> {
  const { findings } = await doctor(more);
  return findings
    .filter((finding) => finding.check === check)
    .map(({ verdict, found, advice }) => {
      expect(advice === undefined).toBe(verdict === 'ok' || verdict === 'skipped');
      return verdict === 'ok' ? verdict : `${verdict}: ${found}`;
    });
}

describe('the doctor on a database', () => {
  let url = '';
  let reports: ProcessReports;
  beforeEach(async () => {
    url = await createDatabase();
    const store = await openStore(url);
    const customer = await addCustomer(store);
    await store.ledger.charge(settlementOf(customer));
    await store.close();
    reports = openProcessReports(url, { info: () => {}, warn: () => {}, error: () => {} }, PATIENT);
  });
  afterEach(() => reports.close());

  const look = (check: string) => of(check, { DATABASE_URL: url });

  it('without problems reports none, and changes nothing', async () => {
    const dump = () =>
      sql(
        url,
        'select (select array_agg(m::text) from schema_migrations m) || (select array_agg(s::text) from ledger_state s) as d',
      );
    const before = await dump();
    const { findings } = await doctor({ DATABASE_URL: url });
    const checks = ['database', 'database connections', 'database clock', 'database schema', 'ledger', 'dead letters'];
    for (const check of checks)
      expect(findings.find((finding) => finding.check === check)).toMatchObject({ verdict: 'ok' });
    // The speed depends on the machine; doctor/check.test.ts tests the limits.
    expect(findings.find(({ check }) => check === 'database latency')?.found).toMatch(/^PostgreSQL answers in \d/);
    expect(findings.find(({ check }) => check === 'ledger')?.found).toContain('1 organization');
    expect(await dump()).toEqual(before);
  });

  it('reports schemas that are missing, older, newer or different from this release', async () => {
    const empty = await createEmptyDatabase();
    expect(await of('database schema', { DATABASE_URL: empty })).toEqual(['problem: there is none']);
    expect(await of('ledger', { DATABASE_URL: empty })).toEqual(['skipped: the database cannot be read']);
    expect(await sql(empty, "select * from pg_tables where schemaname = 'public'")).toEqual([]);
    const schema = () => look('database schema');
    await sql(url, "insert into schema_migrations (version, name, checksum, serves_from) values (999, 'x', 'x', 998)");
    expect(await schema()).toEqual([expect.stringMatching(/^problem: at version 999, newer than/)]);
    await sql(url, 'update schema_migrations set serves_from = 0 where version = 999');
    expect(await schema()).toEqual([expect.stringMatching(/^warning: at version 999, newer .* still serves$/)]);
    await sql(url, 'delete from schema_migrations where version = 999');
    await sql(url, "update schema_migrations set checksum = 'x'");
    expect(await schema()).toEqual([expect.stringMatching(/^problem: baseline: differs/)]);
    await sql(url, 'update schema_migrations set version = 45');
    expect(await schema()).toEqual(['problem: made before release 0.2.0, and cannot be upgraded']);
  });

  it('reports a read-only server', async () => {
    const name = new URL(url.replace('@/', '@host/')).pathname.slice(1);
    await sql(url, `alter database ${name} set default_transaction_read_only = on`);
    expect(await look('database')).toEqual([expect.stringMatching(/^problem: PostgreSQL .* read-only$/)]);
  });

  it('reports a user without the right to read', async () => {
    const role = `r_${randomUUID().slice(0, 8)}`;
    await sql(url, `create role ${role} login`);
    const asReader = { DATABASE_URL: url.replace('gateway@', `${role}@`) };
    expect(await of('database', asReader)).toEqual(['ok']);
    expect(await of('database schema', asReader)).toEqual([
      expect.stringMatching(/^problem: cannot be read: permission denied/),
    ]);
    expect(await of('ledger', asReader)).toEqual(['skipped: the database cannot be read']);
  });

  it('reports balances that differ from their entries, and charges that the ledger refused', async () => {
    const [organization] = await sql<{ id: string }>(url, 'select organization_id as id from accounts');
    await sql(
      url,
      'update accounts set balance_nano_usd = balance_nano_usd + 1, total_credits_nano_usd = total_credits_nano_usd + 1',
    );
    await sql(
      url,
      `insert into dead_letters (generation_id, organization_id, reason, settlement, delivered)
       values ('gen-1', '${organization?.id}', 'because', '{}', true)`,
    );
    expect(await look('ledger')).toEqual([`problem: balances differ from their entries: ${organization?.id}`]);
    expect(await look('dead letters')).toEqual(['problem: 1 charge was refused by the ledger']);
  });

  it('reports processes that are gone, not ready or differ in version or configuration, and their Envoy', async () => {
    expect(await look('gateway processes')).toEqual(['problem: none has reported in the last ten seconds']);
    const always = { host: 'a', worker: 0, pid: 1, startedAtMs: 1 };
    const process = (changes: Partial<ReportingProcess> = {}) => ({ id: randomUUID(), ...always, ...changes });
    const write = (who: ReportingProcess, changes: Partial<ProcessReport> = {}, configuration = configurationWith()) =>
      reports.write(who, reportWith(changes), configuration);
    await write(process({ host: 'c' }));
    const former = process();
    await write(former);
    await sql(url, "update gateway_processes set reported_at = now() - interval '1 minute'");
    await write(process(), { notReady: 'draining' });
    expect(await look('gateway a/0')).toEqual(['ok']);
    expect(await look('gateway c/0')).toEqual([expect.stringMatching(/^warning: has not reported for 6\d s$/)]);
    const fine = ['gateway versions', 'configuration in force', 'envoy on a'];
    expect(await Promise.all(fine.map(look))).toEqual([['ok'], ['ok'], ['ok']]);
    const [serversOut, met] = [['v:1 (ejected)'], { attempts: 2, failures: 2, lastFailure: null, restingTargets: 0 }];
    const refused = { atMs: 2, problems: [{ file: 'f', line: 7, column: 1, message: 'no such field' }] };
    await write(
      process({ host: 'b' }),
      {
        atMs: Date.now() - 300_000,
        gatewayVersion: '0.2.0',
        configurationFingerprint: 'other',
        notReady: 'Envoy is away',
        waitingCharges: { count: 2, bytes: 900 },
        eventLoopLagMs: { p50: 1, p99: 251, max: 900 },
        requestLog: { waiting: 0, dropped: 4 },
        envoy: { reachable: false },
        providers: { openai: { ...met, ejected: true }, vllm: { ...met, ejected: false, serversOut } },
      },
      configurationWith({ path: 'g.yaml', refused, restartNeeded: ['workers'], loadedAtMs: 1_796_000_000_000 }),
    );
    expect(await look('gateway b/0')).toEqual([
      expect.stringMatching(/^problem: the clock of its machine is (299|30\d) s behind PostgreSQL's$/),
      'problem: not ready: Envoy is away',
      expect.stringMatching(/^problem: 2 charges wait for PostgreSQL/),
      expect.stringMatching(/^warning: has an event loop that is late by 251 ms/),
      expect.stringMatching(/^warning: 4 rows of the request log/),
    ]);
    expect(await look('gateway versions')).toEqual(['warning: different ones run: 0.1.0, 0.2.0']);
    expect(await look('configuration in force')).toEqual([
      'problem: 2 different ones at once',
      'problem: g.yaml was refused and the former one stays active, line 7: no such field',
      'warning: workers changed in the file and need a restart',
    ]);
    expect(await look('envoy on b')).toEqual(['problem: does not answer']);
    expect(await look('provider openai')).toEqual(['warning: Envoy on b sends it nothing']);
    expect(await look('provider vllm')).toEqual(['warning: Envoy on b leaves out some servers, v:1 (ejected)']);
    const slow = { ...refused, problems: [{ message: 'Envoy is slow' }] };
    await write(process({ host: 'b' }), {}, configurationWith({ refused: slow, loadedAtMs: 1_797_000_000_000 }));
    expect(await look('configuration in force')).toContainEqual(expect.stringMatching(/ active: Envoy is slow$/));
  });
});

describe('the doctor without a database', () => {
  let silent: Server;
  let port = 0;
  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    silent = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve));
  });
  afterAll(() => silent.close());

  it('reports the reason without the password, and does all other checks; a silent server has a time-out', async () => {
    for (const [at, why] of [
      [1, /ECONNREFUSED/],
      [port, /timeout/],
    ] as const) {
      const startedMs = performance.now();
      const { ok, findings, text: shown } = await doctor({ DATABASE_URL: `postgres://me:hush-hush@127.0.0.1:${at}/x` });
      expect(performance.now() - startedMs).toBeLessThan(30_000);
      expect(ok).toBe(false);
      expect(findings.find(({ check }) => check === 'database')).toMatchObject({
        verdict: 'problem',
        found: expect.stringMatching(why),
      });
      const skipped = findings.filter(({ verdict }) => verdict === 'skipped').map(({ check }) => check);
      expect(skipped.join()).toBe('ledger,gateway processes,dashboard proxies,price lists,models of keys,disk');
      expect(findings.map(({ check }) => check)).toEqual(expect.arrayContaining(['secrets', 'models']));
      expect(shown).not.toContain('hush');
    }
  });

  it('exits with all findings as JSON, although a server never responds', async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../operator/main.ts'), 'doctor', '--json'], {
      env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env({ DATABASE_URL: `postgres://127.0.0.1:${port}/x` }) },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 50_000,
    });
    const ended = once(child, 'exit');
    const report = JSON.parse(await text(child.stdout));
    expect(await ended).toEqual([1, null]);
    const problems = report.findings.filter(({ verdict }: Finding) => verdict === 'problem');
    expect(report).toMatchObject({ ok: false, problems: problems.length, warnings: expect.any(Number) });
    expect(problems.map(({ check }: Finding) => check)).toEqual(['database', 'readiness']);
  });

  it('reports the problem of an invalid configuration', async () => {
    const broken = join(folder, 'broken.yaml');
    writeFileSync(broken, 'workers: many\n');
    const { ok, findings } = await doctor({ GATEWAY_CONFIG: broken });
    expect(ok).toBe(false);
    expect(findings[0]).toMatchObject({
      check: 'configuration',
      found: expect.stringMatching(/broken\.yaml:1:10: workers: /),
    });
    expect(findings.find(({ check }) => check === 'database')?.verdict).toBe('skipped');
  });
});

requirement(missingRedis, () => {
  describe('the doctor on Redis', () => {
    const redis = opened(startTestRedis);

    const look = (check: string, url = redis.url) =>
      of(check, { DATABASE_URL: 'postgres://127.0.0.1:1/x', REDIS_URL: url });

    it('without problems reports none', async () => {
      for (const check of ['redis', 'redis memory', 'redis connections', 'redis clock'])
        expect(await look(check)).toEqual(['ok']);
      expect(await look('redis latency')).toEqual([expect.stringMatching(/^(ok|warning: Redis answers in [\d.]+ ms)/)]);
    });

    it('reports eviction, full memory and a replica', async () => {
      await redis.admin.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
      expect(await look('redis memory')).toEqual([expect.stringMatching(/^problem: .* of 100\.0 MiB, allkeys-lru$/)]);
      await redis.admin.config('SET', 'maxmemory', '1mb', 'maxmemory-policy', 'noeviction');
      expect(await look('redis memory')).toEqual([expect.stringMatching(/^warning: .* of 1\.0 MiB, noeviction$/)]);
      await redis.admin.config('SET', 'maxmemory', '0');
      await redis.admin.call('REPLICAOF', '127.0.0.1', '1');
      expect(await look('redis')).toEqual([expect.stringMatching(/^problem: .* is a replica/)]);
      await redis.admin.call('REPLICAOF', 'NO', 'ONE');
      expect(await look('redis')).toEqual(['ok']);
    });

    it('reports a cluster that does not serve every slot', async () => {
      const [busPort] = await freePorts(1);
      const settings = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
      const node = await startTestRedis({ settings });
      expect(await look('redis', node.url)).toEqual([
        expect.stringMatching(/^problem: .*, cluster, whose state is fail$/),
      ]);
      await node.admin.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
      await expect.poll(() => look('redis', node.url), { interval: 100 }).toEqual(['ok']);
      await node.stop();
    });

    it('reports one that is unreachable or requires a password, without showing the password', async () => {
      expect(await look('redis', 'redis://127.0.0.1:1')).toEqual([
        expect.stringMatching(/^problem: not usable: .*ECONNREFUSED/),
      ]);
      const { text } = await doctor({
        DATABASE_URL: 'postgres://127.0.0.1:1/x',
        REDIS_URL: 'redis://me:hush-hush@127.0.0.1:1',
      });
      expect(text).not.toContain('hush');
      await redis.admin.config('SET', 'requirepass', 'open');
      expect(await look('redis')).toEqual([expect.stringMatching(/^problem: not usable: .*NOAUTH/)]);
      await redis.admin.config('SET', 'requirepass', '');
    });
  });
});
