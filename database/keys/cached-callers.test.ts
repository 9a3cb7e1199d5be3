import { describe, expect, it } from 'vitest';
import type { Key } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { quarantineMs } from '#ext-proc/limits/limit-store.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { CACHED_FOR_MS, cacheCallers } from './cached-callers.ts';

const DAY = 20_778;
const HASH = Buffer.alloc(32, 1);

/** Callers that are read as the test says, by a process whose subscription is proved. */
function cachingWith({ maxWeight, key = {} }: { maxWeight?: number; key?: Partial<Key> } = {}) {
  const time = { wallMs: 1_700_000_000_000, monotonicMs: 0 };
  const state = { isProved: true, asked: 0, reads: 0, tell: (_organizationId: string | undefined) => {} };
  let next: () => Promise<ReturnType<typeof principalWith> | undefined> = async () => principalWith(key);
  const keys = cacheCallers({
    reads: {
      findByHash: () => {
        state.reads += 1;
        return next();
      },
    },
    changes: {
      isProved: () => {
        state.asked += 1;
        return state.isProved;
      },
      onChanged: (tell) => {
        state.tell = tell;
      },
    },
    clock: { nowMs: () => time.wallMs, monotonicMs: () => time.monotonicMs },
    ...(maxWeight === undefined ? {} : { maxWeight }),
  });
  return {
    keys,
    state,
    pass: (ms: number) => {
      time.wallMs += ms;
      time.monotonicMs += ms;
    },
    setBack: (ms: number) => {
      time.wallMs -= ms;
    },
    reads: (read: typeof next) => {
      next = read;
    },
    /** True if the caller was in memory. */
    isCached: async (hash = HASH, day = DAY) => {
      const before = state.reads;
      await keys.findByHash(hash, day);
      return state.reads === before;
    },
  };
}

describe('a caller', () => {
  it('is cached for ten seconds after it was read, or until its scheduled revocation', async () => {
    const { isCached, pass } = cachingWith();
    expect(await isCached()).toBe(false);
    pass(9_999);
    expect(await isCached()).toBe(true);
    pass(1);
    expect(await isCached()).toBe(false);
    const planned = cachingWith({ key: { revokedInMs: 40 } });
    await planned.isCached();
    planned.pass(39);
    expect(await planned.isCached()).toBe(true);
    planned.pass(1);
    expect(await planned.isCached()).toBe(false);
  });

  it('is cached for less time than a dead process keeps its money held', () => {
    const totalTimeoutMs = 600_000;
    // A request that ran until the end, and a long commit.
    const chargedMs = totalTimeoutMs + 10_000;
    expect(chargedMs + CACHED_FOR_MS).toBeLessThan(quarantineMs({ totalTimeoutMs }));
  });

  it('is read again without a proof, for another day, after a clock step, and on request', async () => {
    const { isCached, state, keys, setBack } = cachingWith();
    await isCached();
    state.isProved = false;
    expect(await isCached()).toBe(false);
    state.isProved = true;
    expect(await isCached()).toBe(true);
    expect(await isCached(HASH, DAY + 1)).toBe(false);
    expect(await isCached(HASH, DAY + 1)).toBe(true);
    const { reads } = state;
    await keys.findByHash(HASH, DAY + 1, 'database');
    expect(state.reads).toBe(reads + 1);
    setBack(1);
    expect(await isCached(HASH, DAY + 1)).toBe(false);
  });

  it('requests the next proof even if nobody is cached', async () => {
    const { isCached, state } = cachingWith();
    state.isProved = false;
    await isCached();
    expect(state.asked).toBe(1);
  });

  it('is dropped with its organization or with all, and not with others', async () => {
    const { isCached, state, reads } = cachingWith();
    const other = Buffer.alloc(32, 2);
    await isCached();
    reads(async () => principalWith({}, { id: 'org-2' }));
    await isCached(other);
    state.tell('org-2');
    expect(await isCached()).toBe(true);
    expect(await isCached(other)).toBe(false);
    state.tell('org-3');
    expect(await isCached(other)).toBe(true);
    state.tell(undefined);
    expect(await isCached()).toBe(false);
    expect(await isCached(other)).toBe(false);
  });

  it('is not cached if it is unknown or could not be read', async () => {
    const { isCached, reads } = cachingWith();
    reads(async () => undefined);
    await isCached();
    expect(await isCached()).toBe(false);
    reads(() => Promise.reject(new StoreUnavailable('away')));
    await expect(isCached()).rejects.toThrow('away');
    reads(async () => principalWith());
    expect(await isCached()).toBe(false);
  });
});

const hashOf = (organization: number, key: number) => Buffer.from([organization, key]);

/** Reads a caller of an organization. True if it was in memory. */
function reading(most: number) {
  const { isCached, reads } = cachingWith({ maxWeight: most });
  return (organization: number, key: number, restrictions: Partial<Key> = {}) => {
    reads(async () => principalWith(restrictions, { id: `org-${organization}` }));
    return isCached(hashOf(organization, key));
  };
}

it('evicts the callers that were read first, and counts long lists as more', async () => {
  const isCached = reading(16);
  for (let organization = 0; organization < 16; organization++) await isCached(organization, 0);
  expect(await isCached(0, 0)).toBe(true);
  await isCached(16, 0);
  expect(await isCached(1, 0)).toBe(true);
  expect(await isCached(0, 0)).toBe(false);
  await isCached(17, 0, { models: new Set('a') });
  expect(await Promise.all([isCached(3, 0), isCached(17, 0)])).toEqual([false, true]);
});

it('an organization with many keys or long lists evicts only its own callers', async () => {
  const isCached = reading(80);
  for (let organization = 1; organization <= 7; organization++) await isCached(organization, 0);
  for (let key = 0; key < 200; key++) await isCached(0, key);
  expect(await isCached(0, 189)).toBe(false);
  for (let key = 191; key < 200; key++) expect(await isCached(0, key)).toBe(true);
  await isCached(0, 200, { models: new Set('abcdefghijkl'), ipRanges: ['10.0.0.0/8'] });
  expect(await isCached(0, 200)).toBe(false);
  for (let organization = 1; organization <= 7; organization++) expect(await isCached(organization, 0)).toBe(true);
});
