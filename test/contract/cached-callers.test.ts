import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leastOf } from '../fixtures/least-of.ts';
import {
  addCustomer,
  BY,
  type Customer,
  createDatabase,
  DAY,
  openStore,
  sql,
  type TestStore,
} from '../harness/database.ts';
import { newMarksPath } from './marks-path.ts';

/** The stores of a process that keeps the limits, which may therefore cache callers. */
let store: TestStore;
let url: string;
const found = { memory: 0, database: 0 };
beforeEach(async () => {
  url = await createDatabase();
  store = await openStore(url, { onCallerFound: (from) => void found[from]++ });
  expect((await store.memoryModeLock(newMarksPath(), () => {})).kind).toBe('held');
});
afterEach(() => store.close());

const find = ({ hash }: Customer) => store.keys.findByHash(hash, DAY);

/** Finds a caller as a request does. Returns where it was found. */
async function findsIn(customer: Customer): Promise<'memory' | 'database'> {
  const { memory } = found;
  await find(customer);
  return found.memory > memory ? 'memory' : 'database';
}

/** A customer whose caller is in memory with a valid proof. */
async function keptCustomer(): Promise<Customer> {
  const customer = await addCustomer(store);
  await expect.poll(() => findsIn(customer), { interval: 5 }).toBe('memory');
  return customer;
}

const LOCK_CONNECTION =
  "from pg_stat_activity where application_name = 'inference-gateway memory-mode lock' and datname = current_database()";

describe('a caller in memory', () => {
  it('is used while requests come, and read again after a pause', async () => {
    const customer = await keptCustomer();
    let fewestReads = Number.POSITIVE_INFINITY;
    // On a busy machine a delay between requests, or of a proof, may be long enough for a read.
    for (let round = 0; round < 10 && fewestReads > 0; round++) {
      const before = found.database;
      for (let i = 0; i < 30; i++) {
        await find(customer);
        await sleep(20);
      }
      fewestReads = Math.min(fewestReads, found.database - before);
    }
    expect(fewestReads).toBe(0);
    const afterPauses: string[] = [];
    // A proof may arrive after the request that needed it, and then is valid through one pause.
    for (let pause = 0; pause < 5; pause++) afterPauses.push(await sleep(260).then(() => findsIn(customer)));
    expect(afterPauses).toContain('database');
  });

  it('needs no statements in an idle process', async () => {
    await keptCustomer();
    await sleep(300);
    const last = `select state_change ${LOCK_CONNECTION}`;
    const seen = [JSON.stringify(await sql(url, last))];
    for (let i = 0; i < 4; i++) {
      await sleep(250);
      seen.push(JSON.stringify(await sql(url, last)));
    }
    // The check of every five seconds may have run once.
    expect(new Set(seen).size).toBeLessThanOrEqual(2);
  });

  it('is the changed one for every request after the reply to the change, under load', async () => {
    const customer = await keptCustomer();
    let busy = true;
    const load = Array.from({ length: 8 }, async () => {
      while (busy) {
        await find(customer);
        await sleep(1);
      }
    });
    const { memory } = found;
    for (let concurrency = 1; concurrency <= 10; concurrency++) {
      await store.administration.updateOrganization(customer.organizationId, { concurrency }, BY);
      expect((await find(customer))?.organization.concurrency).toBe(concurrency);
      await store.administration.credit(customer.organizationId, { amountNanoUsd: 1n }, BY);
      expect((await find(customer))?.account.organization.balanceNanoUsd).toBe(1_000_000n + BigInt(concurrency));
    }
    await store.administration.revokeKey(customer.keyId, BY);
    expect((await find(customer))?.key.revokedAtMs).toBeDefined();
    busy = false;
    await Promise.all(load);
    expect(found.memory).toBeGreaterThan(memory + 100);
  });

  it('is dropped within a second after a change by SQL, while requests continue', async () => {
    const customer = await keptCustomer();
    const seenAfterMs = async (statement: string, isSeen: (caller: Awaited<ReturnType<typeof find>>) => boolean) => {
      await sql(url, statement);
      const changedMs = performance.now();
      await expect.poll(async () => isSeen(await find(customer))).toBe(true);
      return performance.now() - changedMs;
    };
    const [organization, key] = [customer.organizationId, customer.keyId].map((id) => `where id = '${id}'`);
    const limited = (rpm: number) =>
      seenAfterMs(
        `update organizations set rpm = ${rpm} ${organization}`,
        (caller) => caller?.organization.limits.requestsPerMinute === rpm,
      );
    const suspended = (is: boolean) =>
      seenAfterMs(
        `update organizations set suspended_at = ${is ? 'now()' : 'null'} ${organization}`,
        (caller) => caller?.organization.suspended === is,
      );
    const scoped = (scope: 'usage:read' | 'chat') =>
      seenAfterMs(`update keys set scopes = '{${scope}}' ${key}`, (caller) => caller?.key.scopes.has(scope) === true);
    expect(await leastOf(1_000, 5, (round) => limited(round + 1))).toBeLessThan(1_000);
    expect(await leastOf(1_000, 5, (round) => suspended(round % 2 === 0))).toBeLessThan(1_000);
    expect(await leastOf(1_000, 5, (round) => scoped(round % 2 === 0 ? 'usage:read' : 'chat'))).toBeLessThan(1_000);
    expect((await find(customer))?.key.scopes.size).toBe(1);
  });

  it('is revoked at the planned time by the clock of PostgreSQL', async () => {
    const lateMs = async () => {
      const customer = await keptCustomer();
      const earliestMs = performance.now() + 600;
      await sql(
        url,
        `update keys set revoked_at = now() + interval '600 ms', revocation_decided_at = now() where id = '${customer.keyId}'`,
      );
      const plannedMs = performance.now() + 600;
      let revokedAtMs: number | undefined;
      while (revokedAtMs === undefined && performance.now() < plannedMs + 6_000) {
        await sleep(5);
        revokedAtMs = (await find(customer))?.key.revokedAtMs;
      }
      expect(revokedAtMs).toBeDefined();
      expect(performance.now()).toBeGreaterThan(earliestMs - 50);
      return performance.now() - plannedMs;
    };
    // Without a check of the time it would be cached for ten seconds.
    expect(await leastOf(1_500, 5, lateMs)).toBeLessThan(1_500);
  });

  it('is read while the connection for notifications is lost, and cached again with the next one', async () => {
    const customer = await keptCustomer();
    await sql(url, `select pg_terminate_backend(pid) ${LOCK_CONNECTION}`);
    await sql(url, `update organizations set rpm = 77 where id = '${customer.organizationId}'`);
    await sleep(250);
    expect((await find(customer))?.organization.limits.requestsPerMinute).toBe(77);
    await expect.poll(() => findsIn(customer)).toBe('memory');
  });

  it('has the current epoch of the ledger', async () => {
    const customer = await keptCustomer();
    const epoch = await store.administration.renewLedgerEpoch(BY);
    expect((await find(customer))?.account.ledgerEpoch).toBe(epoch);
  });
});
