import { describe, expect, it } from 'vitest';
import type { SharedStore } from '../../ext-proc/stores/postgres/memory-mode-lock.ts';
import { StoreUnavailable } from '../../ext-proc/stores/store-unavailable.ts';
import { addCustomer, createDatabase, DAY, openStore, sql } from './database.ts';

/** What a process that takes the lock for its memory does to the database. */
const TAKE_OVER = 'update ledger_state set memory_owner = gen_random_uuid()';
const CUT_LOCK_CONNECTIONS =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inference-gateway memory-mode lock' and datname = current_database()";

/** Writes down what it is told to do. */
function recordingStore(): SharedStore & { readonly told: string[] } {
  const told: string[] = [];
  return {
    told,
    async beginAnew() {
      told.push('begin anew');
      return {
        async open() {
          told.push('open');
        },
      };
    },
  };
}

describe('a database whose limits are in a shared store', () => {
  it('takes any number of processes; the first of all opens the store at once, later ones leave it alone', async () => {
    const url = await createDatabase();
    const stores = await Promise.all([openStore(url), openStore(url), openStore(url)]);
    const customer = await addCustomer(stores[0]);
    const told: string[][] = [];
    for (const store of stores) {
      const shared = recordingStore();
      expect((await store.sharedModeLock(shared, () => {})).kind).toBe('held');
      told.push(shared.told);
    }
    expect(told).toEqual([['begin anew', 'open'], [], []]);
    for (const store of stores) {
      expect((await store.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    }
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is opened by at most one of several that start together', async () => {
    const url = await createDatabase();
    const stores = await Promise.all([openStore(url), openStore(url), openStore(url)]);
    const shared = recordingStore();
    await Promise.all(stores.map((store) => store.sharedModeLock(shared, () => {})));
    expect(shared.told.filter((what) => what === 'open')).toHaveLength(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is never used by both kinds at once, whichever was first', async () => {
    const url = await createDatabase();
    const [inMemory, shared, other] = await Promise.all([openStore(url), openStore(url), openStore(url)]);
    const customer = await addCustomer(inMemory);
    expect((await inMemory.memoryModeLock(() => {})).kind).toBe('held');
    const early = recordingStore();
    expect(await shared.sharedModeLock(early, () => {})).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('in its memory'),
    });
    expect(early.told).toEqual([]);
    await inMemory.close();

    // What the store remembers may be from before that memory kept the limits, so it begins anew and waits.
    const later = recordingStore();
    expect((await shared.sharedModeLock(later, () => {})).kind).toBe('held');
    expect(later.told).toEqual(['begin anew']);
    expect((await other.memoryModeLock(() => {})).kind).toBe('refused');
    expect((await shared.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    await Promise.all([shared.close(), other.close()]);
  });

  it('is left alone by a process that lost its lock to a memory, from the moment that the memory counts', async () => {
    const url = await createDatabase();
    const shared = await openStore(url);
    const customer = await addCustomer(shared);
    let reason = '';
    await shared.sharedModeLock(recordingStore(), (told) => {
      reason = told;
    });
    await sql(url, TAKE_OVER);
    await expect(shared.keys.findByHash(customer.hash, DAY)).rejects.toBeInstanceOf(StoreUnavailable);
    await sql(url, CUT_LOCK_CONNECTIONS);
    await expect.poll(() => reason, { timeout: 5_000 }).toContain('Another gateway process');
    await shared.close();
  });

  it('keeps its processes when their connections are cut', async () => {
    const url = await createDatabase();
    const [one, two] = await Promise.all([openStore(url), openStore(url)]);
    const customer = await addCustomer(one);
    await one.sharedModeLock(recordingStore(), () => {});
    await two.sharedModeLock(recordingStore(), () => {});
    await sql(url, CUT_LOCK_CONNECTIONS);
    for (const store of [one, two]) {
      await expect
        .poll(() => store.logged.map(({ message }) => message), { timeout: 5_000 })
        .toContain('the memory-mode lock is held again');
      expect((await store.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    }
    await Promise.all([one.close(), two.close()]);
  });
});
