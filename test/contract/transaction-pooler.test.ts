import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import type { Finding } from '#operator/doctor/check.ts';
import { addCustomer, createDatabase, openStore, settlementOf } from '../harness/database.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { requirement } from '../harness/requirement.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { newMarksPath } from './marks-path.ts';
import { missingPgBouncer, type PgBouncer, startPgBouncer } from './pgbouncer.ts';

async function doctorFindings(url: string): Promise<readonly Finding[]> {
  const result = await runCommandLine(['doctor'], { DATABASE_URL: url, GATEWAY_CONFIG: '/nonexistent' });
  if (result.kind === 'usage') throw new Error(result.message);
  return (result.json as { findings: readonly Finding[] }).findings.filter(({ check }) => check === 'database pooler');
}

requirement(missingPgBouncer, () => {
  let bouncer: PgBouncer;

  describe('a pooler in transaction mode', () => {
    beforeAll(async () => {
      bouncer = await startPgBouncer('transaction', inject('postgresSocketDir'));
    });
    afterAll(() => bouncer?.stop());

    it('is refused at the start, by the command line and by the doctor, with advice', async () => {
      const url = await createDatabase();
      await expect(openStore(bouncer.urlOf(url))).rejects.toThrow(/pool_mode=transaction.*session pooling/);
      const listed = await runCommandLine(['org', 'list'], { DATABASE_URL: bouncer.urlOf(url) });
      expect(listed).toMatchObject({ kind: 'refused', message: expect.stringContaining('session pooling') });
      const migrated = await runCommandLine(['migrate'], { DATABASE_URL: bouncer.urlOf(url) });
      expect(migrated).toMatchObject({ kind: 'refused', message: expect.stringContaining('session pooling') });
      expect(await doctorFindings(bouncer.urlOf(url))).toMatchObject([
        { verdict: 'problem', advice: expect.stringContaining('session pooling') },
      ]);
    });

    it('stops the gateway process at its start with status 78, after which supervisors do not restart it', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gw-pooled-'));
      try {
        const [api, dashboard, metrics] = await freePorts(3);
        const listen = `{api: "127.0.0.1:${api}", dashboard: "127.0.0.1:${dashboard}", metrics: "127.0.0.1:${metrics}"}`;
        const config = join(folder, 'gateway.yaml');
        writeFileSync(config, `listen: ${listen}\n`);
        const env = {
          GATEWAY_CONFIG: config,
          GATEWAY_DATA: folder,
          DATABASE_URL: bouncer.urlOf(await createDatabase()),
        };
        const child = spawn(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
          env: { ...process.env, ...env },
          stdio: ['ignore', 'ignore', 'pipe'],
        });
        const [told, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
        expect(told).toContain('session pooling');
        expect(code).toBe(78);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('is detected while other clients run transactions', async () => {
      const url = bouncer.urlOf(await createDatabase());
      let going = true;
      const others = Array.from({ length: 6 }, async () => {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        while (going) await client.query('select pg_sleep(0.001)');
        await client.end();
      });
      for (let i = 0; i < 5; i++) await expect(openStore(url)).rejects.toThrow(/pool_mode=transaction/);
      going = false;
      await Promise.all(others);
    });
  });

  describe('a pooler in session mode', () => {
    beforeAll(async () => {
      bouncer = await startPgBouncer('session', inject('postgresSocketDir'));
    });
    afterAll(() => bouncer?.stop());

    it('works: keys are found, charges committed, locks held', async () => {
      const url = bouncer.urlOf(await createDatabase());
      const store = await openStore(url);
      try {
        const customer = await addCustomer(store);
        expect((await store.memoryModeLock(newMarksPath(), () => undefined)).kind).toBe('held');
        const settlement = settlementOf(customer);
        const after = await store.ledger.charge(settlement);
        expect(after.organization.balanceNanoUsd).toBe(1_000_000n - settlement.costNanoUsd);
        expect(await doctorFindings(url)).toEqual([]);
      } finally {
        await store.close();
      }
    });
  });
});

describe('a session with synchronous_commit off', () => {
  it('still commits charges and credits synchronously', async () => {
    const url = await createDatabase();
    const store = await openStore(url);
    const customer = await addCustomer(store);
    await store.close();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query("set synchronous_commit = off; set default_transaction_isolation = 'read committed'");
      for (const call of [
        'select charge_generations(array[]::charge[])',
        `select * from add_credit('${customer.organizationId}', 1, 'a note', 'a reference', 'a test')`,
      ]) {
        await client.query(`begin; ${call}`).catch(() => undefined);
        const { rows } = await client.query("select current_setting('synchronous_commit') as it");
        await client.query('rollback');
        expect([call, rows]).toEqual([call, [{ it: 'on' }]]);
      }
    } finally {
      await client.end();
    }
  });
});
