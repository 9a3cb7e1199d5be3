import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import {
  addCustomer,
  addKey,
  type Customer,
  createDatabase,
  DAY,
  openStore,
  settlementOf,
  sql,
  type TestStore,
} from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { startTestPostgres } from '../harness/postgres-server.ts';
import { usageOf } from './usage-of.ts';

/** A separate server, because these tests kill it. */
describe('PostgreSQL', () => {
  const server = opened(startTestPostgres);
  let url = '';
  let store: TestStore;
  beforeEach(async () => {
    url = await createDatabase(server.socketDir);
    store = await openStore(url, { timeouts: { connectMs: 500, statementMs: 500 } });
  });
  afterEach(() => store.close());

  it('that is killed under load keeps every resolved settlement, and charges repeated ones once', async () => {
    const customers = [await addCustomer(store, 10n ** 12n), await addCustomer(store, 10n ** 12n)];
    const resolved = new Set<string>();
    let failures = 0;
    let unexpected: unknown;
    let ending = false;
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      const customer = customers[caller % 2];
      while (customer && !ending) {
        const settlement = settlementOf(customer, { costNanoUsd: 3n });
        // Like the shipper, repeats the same settlement until it is durable.
        while (!resolved.has(settlement.generationId)) {
          try {
            await store.ledger.charge(settlement);
            resolved.add(settlement.generationId);
          } catch (error) {
            failures++;
            if (!(error instanceof StoreUnavailable)) unexpected = error;
            await sleep(20);
          }
        }
      }
    });
    await expect.poll(() => resolved.size).toBeGreaterThan(200);
    const before = [...resolved];
    await server.crash();
    await expect.poll(() => failures).toBeGreaterThan(20);
    await server.restart();
    const restartedAt = resolved.size;
    await expect.poll(() => resolved.size).toBeGreaterThan(restartedAt + 200);
    ending = true;
    await Promise.all(callers);
    expect(unexpected).toBeUndefined();
    const stored = new Set((await sql<{ id: string }>(url, 'select id from generations')).map(({ id }) => id));
    expect(before.filter((id) => !stored.has(id))).toEqual([]);
    expect(stored).toEqual(resolved);
    expect(await store.administration.verifyLedger()).toMatchObject({ generations: resolved.size, differences: [] });
  });

  /** Makes every kind of call at once. Returns their outcomes and the time of the slowest. */
  async function everyCall(customer: Customer): Promise<{ outcomes: readonly string[]; slowestMs: number }> {
    const { organizationId, hash } = customer;
    const startedMs = performance.now();
    const calls: readonly Promise<unknown>[] = [
      store.keys.findByHash(hash, DAY),
      store.ledger.charge(settlementOf(customer)),
      store.ledger.findGeneration(organizationId, 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAV'),
      store.ledger.credits(organizationId),
      usageOf(store.ledger, { organizationId, firstDay: DAY, lastDay: DAY, groupBy: new Set() }),
      store.administration.organizations(),
      addKey(store, organizationId),
      store.administration.verifyLedger(),
      store.ping(),
    ];
    const settled = await Promise.allSettled(calls);
    const outcomes = settled.map((outcome) => {
      if (outcome.status === 'fulfilled') return 'answered';
      return outcome.reason instanceof StoreUnavailable ? 'unavailable' : String(outcome.reason);
    });
    return { outcomes: [...new Set(outcomes)], slowestMs: performance.now() - startedMs };
  }

  it('that is stopped fails every call with StoreUnavailable at once, and serves again when it is back', async () => {
    const customer = await addCustomer(store);
    await server.shutDown();
    expect((await everyCall(customer)).outcomes).toEqual(['unavailable']);
    // The fastest of several counts, because the machine may stall.
    await expect.poll(async () => (await everyCall(customer)).slowestMs).toBeLessThan(1_500);
    await expect(openStore(url)).rejects.toBeInstanceOf(StoreUnavailable);
    await server.restart();
    await expect.poll(async () => (await everyCall(customer)).outcomes).toEqual(['answered']);
  });

  it('that is frozen fails every call with StoreUnavailable within its time-out, and serves again after it', async () => {
    const customer = await addCustomer(store);
    await everyCall(customer);
    // A backend whose connection was just closed may end before its signal.
    const frozen = server.processes().filter((pid) => signalled(pid, 'SIGSTOP'));
    try {
      // The first round has existing connections, the second new ones, which nobody accepts.
      for (let round = 0; round < 2; round++) {
        const away = await everyCall(customer);
        expect(away.outcomes).toEqual(['unavailable']);
        // Without a time-out, calls would wait for as long as the server is frozen.
        expect(away.slowestMs).toBeLessThan(20_000);
      }
    } finally {
      for (const pid of frozen.toReversed()) signalled(pid, 'SIGCONT');
    }
    await expect.poll(async () => (await everyCall(customer)).outcomes).toEqual(['answered']);
  });

  it('that fails new connections with an internal error, as on a full disk, is unavailable', async () => {
    const [{ path } = { path: '' }] = await sql<{ path: string }>(
      url,
      `select current_setting('data_directory') || '/base/' || oid || '/pg_filenode.map' as path
       from pg_database where datname = current_database()`,
    );
    const map = readFileSync(path);
    writeFileSync(path, Buffer.alloc(map.length));
    const refused = await openStore(url).catch((error: unknown) => error);
    writeFileSync(path, map);
    expect(refused).toBeInstanceOf(StoreUnavailable);
    expect(refused).toMatchObject({ message: 'PostgreSQL cannot answer (XX000)' });
    await (await openStore(url)).close();
  });
});

/** Sends a signal. Returns false if the process has ended. */
function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}
