import { setTimeout as sleep } from 'node:timers/promises';
import { describe, type TestContext, test } from 'vitest';
import { systemClock as clock, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { HoldKeeper } from '#ext-proc/billing/hold-keeper.ts';
import type { AdmissionResult, Hold } from '#ext-proc/limits/limit-store.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { addCustomer, type Customer, createDatabase, openStore, sql, type TestStore } from '../harness/database.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { requestOf } from './limit-store.fixtures.ts';

/**
 * A replica becomes master while the old master stays alive and a process reaches only the old one.
 * Money must still be admitted once.
 */
const LEASE_MS = 6_000;
const log = { info() {}, warn() {} } as unknown as Log;

/** A gateway process as the limit store sees it. */
interface Process {
  readonly database: TestStore;
  readonly limits: RedisLimitStore;
  readonly holds: HoldKeeper;
  readonly customer: Customer;
  /** Aborted when the process must end its requests. */
  readonly stranded: AbortSignal;
}

requirement(missingRedis, () => {
  /** Two Redis, a database and a customer for one test. All of it ends with the test. */
  async function openScene({ expect, onTestFinished }: TestContext) {
    const [old, promoted, url] = await Promise.all([startTestRedis(), startTestRedis(), createDatabase()]);
    const processes: Process[] = [];
    onTestFinished(async () => {
      for (const { database, limits, holds } of processes) {
        await holds.close();
        await Promise.all([limits.close(), database.close()]);
      }
      await Promise.all([old.stop(), promoted.stop()]);
    });
    const first = await openStore(url);
    const customer = await addCustomer(first, 1_000n);
    await first.close();

    async function startProcess(redis: TestRedis): Promise<Process> {
      const database = await openStore(url);
      const { fences } = database;
      const limits = await createRedisLimitStore({
        ...{ url: redis.url, log, leaseMs: LEASE_MS, clock: 'server', fences, replyMs: 20_000 },
      });
      const lock = await database.sharedModeLock(limits.lossDetection, () => {});
      expect(lock.kind).toBe('held');
      const stranded = new AbortController();
      const holds = new HoldKeeper({
        ...{ limits, clock, log, renewEveryMs: 500, renewWithinMs: LEASE_MS / 2 },
        onProblem({ kind }) {
          if (kind === 'stranded') stranded.abort();
        },
      });
      fences.onNewer((sinceMs) => holds.onNewerFence(sinceMs));
      const started = { database, limits, holds, customer, stranded: stranded.signal };
      processes.push(started);
      return started;
    }

    /** The replica has all data of the old master, and is promoted. */
    async function failOver(): Promise<void> {
      await promoted.admin.replicaof('127.0.0.1', old.port);
      const isCopy = async () => (await promoted.admin.info('replication')).includes('master_link_status:up');
      await expect.poll(isCopy, { timeout: 30_000 }).toBe(true);
      await promoted.admin.replicaof('NO', 'ONE');
    }
    return { old, promoted, url, startProcess, failOver };
  }

  /** Reads the caller and requests 900 of the 1,000, as a request does. */
  async function ask({ database, limits, customer }: Process): Promise<AdmissionResult['kind'] | 'unavailable' | Hold> {
    const holdId = newId('gen', Date.now());
    const { organizationId, keyId, hash } = customer;
    try {
      for (;;) {
        const nowMs = Date.now();
        const day = utcDay(nowMs);
        const caller = await database.keys.findByHash(hash, day);
        const snapshot = caller?.account;
        if (snapshot === undefined) throw new Error('the customer is not known');
        const request = {
          ...requestOf(),
          holdId,
          organizationId,
          keyId,
          holdNanoUsd: 900n,
          nowMs,
          snapshot,
        };
        const result = await limits.admit(request);
        if (result.kind === 'admitted') return { ...request, day };
        if (result.kind === 'refused') return 'refused';
      }
    } catch (error) {
      if (error instanceof StoreUnavailable) return 'unavailable';
      throw error;
    }
  }

  async function askUntilAdmitted(process: Process): Promise<Hold> {
    for (;;) {
      const answer = await ask(process);
      if (typeof answer === 'object') return answer;
      await sleep(50);
    }
  }

  // They wait for leases, so side by side.
  describe.concurrent('after a promotion', () => {
    test('the old master admits nothing once the new one is open', async (context) => {
      const { expect } = context;
      const { old, promoted, startProcess, failOver } = await openScene(context);
      const cutOff = await startProcess(old);
      await failOver();
      const other = await startProcess(promoted);
      await askUntilAdmitted(other);
      const answers = [];
      for (let tries = 0; tries < 10; tries++) answers.push(await ask(cutOff));
      expect(new Set(answers)).toEqual(new Set(['unavailable']));
      expect(await cutOff.limits.lossDetection.opensInMs()).toBeGreaterThan(0);
    });

    test('requests that the old master admitted after the promotion end before the new one admits', async (context) => {
      const { expect } = context;
      const { old, promoted, startProcess, failOver } = await openScene(context);
      const cutOff = await startProcess(old);
      await failOver();
      const admitted = await ask(cutOff);
      if (typeof admitted !== 'object') throw new Error(`nothing was admitted: ${admitted}`);
      cutOff.holds.keep(admitted);
      await sleep(1_000);
      const other = await startProcess(promoted);
      const reading = setInterval(() => void ask(cutOff), 500);
      try {
        expect(cutOff.stranded.aborted).toBe(false);
        await askUntilAdmitted(other);
        expect(cutOff.stranded.aborted).toBe(true);
      } finally {
        clearInterval(reading);
      }
    });

    test('a process that moves to the new master in time keeps its holds, which count there', async (context) => {
      const { expect } = context;
      const { old, promoted, startProcess, failOver } = await openScene(context);
      const moves = await startProcess(old);
      const admitted = await ask(moves);
      if (typeof admitted !== 'object') throw new Error(`nothing was admitted: ${admitted}`);
      await failOver();
      const other = await startProcess(promoted);
      expect((await other.limits.renew([admitted], Date.now())).takenBack).toEqual([admitted.holdId]);
      await expect.poll(() => ask(other), { timeout: 30_000 }).toBe('refused');
    });

    test('two opened masters have different fences, also after concurrent opening', async (context) => {
      const { expect } = context;
      const { old, promoted, url, startProcess, failOver } = await openScene(context);
      const [one, two] = await Promise.all([startProcess(old), startProcess(old)]);
      await old.empty();
      await Promise.all([one.limits.lossDetection.opensInMs(), two.limits.lossDetection.opensInMs()]);
      const [row] = await sql<{ store_fences: string }>(url, 'select store_fences from ledger_state');
      const told = await old.admin.hget('gateway:{0}:shard', 'fence');
      expect(row?.store_fences).toBe(told);
      await expect
        .poll(() => one.limits.lossDetection.name(), { timeout: 2 * one.limits.lossDetection.renamedWithinMs })
        .toBeDefined();
      await failOver();
      await (await startProcess(promoted)).limits.lossDetection.opensInMs();
      expect(Number(await promoted.admin.hget('gateway:{0}:shard', 'fence'))).toBeGreaterThan(Number(told));
    });
  });
});
