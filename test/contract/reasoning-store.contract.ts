import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#core/clock.ts';
import type { ReasoningStoreOptions } from '#ext-proc/limits/reasoning/memory-reasoning-store.ts';
import { REASONING_BOUNDS, type ReasoningStore } from '#ext-proc/limits/reasoning/reasoning-store.ts';

/** Opens an empty store. */
export type OpenReasoningStore = (options: ReasoningStoreOptions) => Promise<ReasoningStore>;

const MiB = 1024 * 1024;

/** The guarantees of every store of reasoning, in memory or in Redis. */
export function reasoningStoreContract(name: string, open: OpenReasoningStore): void {
  describe(`${name} as a store of reasoning`, () => {
    let stores: ReasoningStore[] = [];
    let evicted = 0;
    beforeEach(() => {
      evicted = 0;
    });
    afterEach(() => {
      for (const store of stores) store.close();
      stores = [];
    });

    async function openStore(bounds: Partial<ReasoningStoreOptions['bounds']> = {}): Promise<ReasoningStore> {
      const store = await open({
        bounds: { ...REASONING_BOUNDS, ...bounds },
        clock: systemClock,
        onEvicted: (messages) => {
          evicted += messages;
        },
      });
      stores.push(store);
      return store;
    }

    const message = (organizationId: string, name: string, bytes = 8) => ({
      ...{ organizationId, name },
      // Covers every byte value.
      sealed: Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 37 + name.length) % 256)),
    });

    async function found(store: ReasoningStore, organizationId: string, names: readonly string[]): Promise<boolean[]> {
      return (await store.find(organizationId, names, MiB)).map((sealed) => sealed !== undefined);
    }

    it('finds only kept messages, in the order of the names', async () => {
      const store = await openStore();
      const [one, two] = [message('org-1', 'one', 300), message('org-1', 'two', 1)];
      expect(await store.keep(one)).toBe('kept');
      expect(await store.keep(two)).toBe('kept');
      expect(await store.find('org-1', ['two', 'three', 'one'], MiB)).toEqual([two.sealed, undefined, one.sealed]);
      expect(await store.find('org-1', ['two'], MiB)).toEqual([two.sealed]);
    });

    it('finds a message that was kept twice', async () => {
      const store = await openStore();
      const twice = message('org-1', 'call_0', 5);
      for (let n = 0; n < 2; n++) expect(await store.keep(twice)).toBe('kept');
      expect(await store.find('org-1', ['call_0'], MiB)).toEqual([twice.sealed]);
    });

    it('finds neither of two messages with the same name', async () => {
      const store = await openStore();
      await store.keep(message('org-1', 'call_0', 5));
      await store.keep(message('org-1', 'call_0', 9));
      expect(await store.find('org-1', ['call_0'], MiB)).toEqual([undefined]);
      await store.keep(message('org-1', 'call_0', 9));
      expect(await store.find('org-1', ['call_0'], MiB)).toEqual([undefined]);
    });

    it.each([
      ['larger than allowed', 1_001, 'full'],
      ['empty', 0, 'kept'],
    ])('finds no message if another one with its name is %s, before or after', async (_, bytes, result) => {
      const store = await openStore({ messageBytes: 1_000 });
      await store.keep(message('org-1', 'before'));
      expect(await store.keep(message('org-1', 'before', bytes))).toBe(result);
      expect(await store.keep(message('org-1', 'after', bytes))).toBe(result);
      await store.keep(message('org-1', 'after'));
      expect(await found(store, 'org-1', ['before', 'after'])).toEqual([false, false]);
    });

    it('finds at most the requested bytes, beginning with the first names', async () => {
      const store = await openStore();
      for (const name of ['a', 'b', 'c']) await store.keep(message('org-1', name, 3_000));
      const sizes = (await store.find('org-1', ['c', 'b', 'a'], 6_000)).map((sealed) => sealed?.length);
      expect(sizes).toEqual([3_000, 3_000, undefined]);
    });

    it('keeps no message above the size limit', async () => {
      const store = await openStore({ messageBytes: 1_000 });
      expect(await store.keep(message('org-1', 'large', 1_001))).toBe('full');
      expect(await store.keep(message('org-1', 'small', 1_000))).toBe('kept');
      expect(await found(store, 'org-1', ['large', 'small'])).toEqual([false, true]);
    });

    it('deletes messages after their time', async () => {
      const store = await openStore({ expiresAfterMs: 50 });
      await store.keep(message('org-1', 'one'));
      await expect.poll(() => found(store, 'org-1', ['one'])).toEqual([false]);
    });

    it('evicts the oldest messages only of an organization above its bound', async () => {
      // A message is a third larger in Redis.
      const store = await openStore({ organizationBytes: 8 * 3_500 });
      await store.keep(message('org-2', 'other', 2_000));
      const names = Array.from({ length: 20 }, (_, n) => `message-${n}`);
      for (const name of names) await store.keep(message('org-1', name, 2_000));
      const kept = await found(store, 'org-1', names);
      const oldest = kept.indexOf(true);
      expect(oldest).toBeGreaterThanOrEqual(8);
      expect(oldest).toBeLessThan(16);
      expect(kept.slice(oldest)).not.toContain(false);
      expect(evicted).toBe(oldest);
      expect(await found(store, 'org-2', ['other'])).toEqual([true]);
      expect(store.heldBytes()).toBeLessThanOrEqual(9 * 3_500);
    });

    it('evicts messages of the largest organization if all together are too many', async () => {
      const store = await openStore({ totalBytes: 12 * 3_500 });
      await store.keep(message('small', 'first', 2_000));
      for (let n = 0; n < 20; n++) await store.keep(message('large', `large-${n}`, 2_000));
      await store.keep(message('small', 'second', 2_000));
      expect(await found(store, 'small', ['first', 'second'])).toEqual([true, true]);
      expect(await found(store, 'large', ['large-0', 'large-19'])).toEqual([false, true]);
      expect(store.heldBytes()).toBeLessThanOrEqual(12 * 3_500);
    });

    it('counts small messages too, so their number is bounded', async () => {
      const store = await openStore({ organizationBytes: 10_000 });
      for (let n = 0; n < 40; n++) await store.keep(message('org-1', `n-${n}`, 1));
      expect(evicted).toBeGreaterThanOrEqual(20);
      expect(await found(store, 'org-1', ['n-0', 'n-39'])).toEqual([false, true]);
    });
  });
}
