import { beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { SharedStore } from '#database/limits-ownership/shared-store.ts';
import { addCustomer, createDatabase, DAY, openStore, sql } from '../harness/database.ts';
import { newMarksPath } from './marks-path.ts';

/** The mark of a process that takes the lock for its memory. */
const TAKE_OVER = 'update ledger_state set memory_owner = gen_random_uuid()';
const CUT_LOCK_CONNECTIONS =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inference-gateway memory-mode lock' and datname = current_database()";

const RENAMED_WITHIN_MS = 1_500;

/** The place of the store's name, by default the same for all stores. */
interface NameHolder {
  name?: string;
}

/** A store that records its calls. */
function recordingStore(holder: NameHolder = oneRedis): SharedStore & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    renamedWithinMs: RENAMED_WITHIN_MS,
    async name(given) {
      if (holder.name === undefined && given !== undefined) holder.name = given;
      return holder.name;
    },
    keepName() {},
    async startOver() {
      calls.push('start over');
      return {
        async open() {
          calls.push('open');
        },
      };
    },
  };
}

let oneRedis: NameHolder = {};
beforeEach(() => {
  oneRedis = {};
});

describe('a database whose limits are in a shared store', () => {
  it('allows any number of processes; the first opens the store at once, later ones do not', async () => {
    const url = await createDatabase();
    const stores = await Promise.all([openStore(url), openStore(url), openStore(url)]);
    const customer = await addCustomer(stores[0]);
    const calls: string[][] = [];
    for (const store of stores) {
      const shared = recordingStore();
      expect((await store.sharedModeLock(shared, () => {})).kind).toBe('held');
      calls.push(shared.calls);
    }
    expect(calls).toEqual([['start over', 'open'], [], []]);
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
    expect(shared.calls.filter((what) => what === 'open')).toHaveLength(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is never used by processes with memory and shared limits at once', async () => {
    const url = await createDatabase();
    const [inMemory, shared, other] = await Promise.all([openStore(url), openStore(url), openStore(url)]);
    const customer = await addCustomer(inMemory);
    expect((await inMemory.memoryModeLock(newMarksPath(), () => {})).kind).toBe('held');
    const early = recordingStore();
    expect(await shared.sharedModeLock(early, () => {})).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('in its memory'),
    });
    expect(early.calls).toEqual([]);
    await inMemory.close();

    // The store's state may be older than the limits in that memory, so it begins a new incarnation
    // and waits.
    const later = recordingStore();
    expect((await shared.sharedModeLock(later, () => {})).kind).toBe('held');
    expect(later.calls).toEqual(['start over']);
    expect((await other.memoryModeLock(newMarksPath(), () => {})).kind).toBe('refused');
    expect((await shared.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    await Promise.all([shared.close(), other.close()]);
  });

  it('is not used by a process that has lost its lock to one with limits in memory', async () => {
    const url = await createDatabase();
    const shared = await openStore(url);
    const customer = await addCustomer(shared);
    let reason = '';
    await shared.sharedModeLock(recordingStore(), (message) => {
      reason = message;
    });
    await sql(url, TAKE_OVER);
    await expect(shared.keys.findByHash(customer.hash, DAY)).rejects.toBeInstanceOf(StoreUnavailable);
    await sql(url, CUT_LOCK_CONNECTIONS);
    await expect.poll(() => reason).toContain('Another gateway process');
    await shared.close();
  });

  it('is kept by its processes when their connections are cut', async () => {
    const url = await createDatabase();
    const [one, two] = await Promise.all([openStore(url), openStore(url)]);
    const customer = await addCustomer(one);
    await one.sharedModeLock(recordingStore(), () => {});
    await two.sharedModeLock(recordingStore(), () => {});
    await sql(url, CUT_LOCK_CONNECTIONS);
    for (const store of [one, two]) {
      await expect
        .poll(() => store.logged.map(({ message }) => message))
        .toContain('the memory-mode lock is held again');
      expect((await store.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
    }
    await Promise.all([one.close(), two.close()]);
  });

  describe('that differs from the store of live processes', () => {
    it('refuses processes, unless they use the right store or no other process is alive', async () => {
      const url = await createDatabase();
      const [living, other] = await Promise.all([openStore(url), openStore(url)]);
      const customer = await addCustomer(living);
      const [right, wrong]: [NameHolder, NameHolder] = [{}, {}];
      expect((await living.sharedModeLock(recordingStore(right), () => {})).kind).toBe('held');
      for (const name of [undefined, 'of another database']) {
        if (name !== undefined) wrong.name = name;
        const refused = recordingStore(wrong);
        expect(await other.sharedModeLock(refused, () => {})).toMatchObject({
          kind: 'refused',
          message: expect.stringContaining('another Redis'),
        });
        expect(refused.calls).toEqual([]);
      }
      expect((await living.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
      await living.close();

      // Holds of the former store may not have ended, so this process waits.
      const alone = recordingStore(wrong);
      expect((await other.sharedModeLock(alone, () => {})).kind).toBe('held');
      expect(alone.calls).toEqual(['start over']);
      expect((await other.keys.findByHash(customer.hash, DAY))?.key.id).toBe(customer.keyId);
      await other.close();
    });

    it('is accepted if it had lost its name, and a live process restores it', async () => {
      const url = await createDatabase();
      const [living, other] = await Promise.all([openStore(url), openStore(url)]);
      await living.sharedModeLock(recordingStore(), () => {});
      const { name } = oneRedis;
      delete oneRedis.name;
      const taken = other.sharedModeLock(recordingStore(), () => {});
      setTimeout(() => Object.assign(oneRedis, { name }), RENAMED_WITHIN_MS / 3);
      expect((await taken).kind).toBe('held');
      await Promise.all([living.close(), other.close()]);
    });

    it('is accepted for all processes that start together after all others have ended', async () => {
      const url = await createDatabase();
      const first = await openStore(url);
      await first.sharedModeLock(recordingStore(), () => {});
      await first.close();
      oneRedis = {};
      const stores = await Promise.all([openStore(url), openStore(url), openStore(url)]);
      const shared = { ...recordingStore(), renamedWithinMs: 10_000 };
      const taken = await Promise.all(stores.map((store) => store.sharedModeLock(shared, () => {})));
      expect(taken.map(({ kind }) => kind)).toEqual(['held', 'held', 'held']);
      expect(shared.calls).toEqual(['start over']);
      await Promise.all(stores.map((store) => store.close()));
    });

    it('stops authentication in processes with the former name', async () => {
      const url = await createDatabase();
      const store = await openStore(url);
      const customer = await addCustomer(store);
      await store.sharedModeLock(recordingStore(), () => {});
      await sql(url, "update ledger_state set limit_store = 'another'");
      await expect(store.keys.findByHash(customer.hash, DAY)).rejects.toBeInstanceOf(StoreUnavailable);
      await store.close();
    });
  });
});
