import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KeyLimits } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Hold } from '#ext-proc/limits/limit-store.ts';
import type { RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import {
  admitFresh,
  DAY,
  LEASE_MS,
  NOON_ISH,
  QUARANTINE_MS,
  requestOf,
  snapshotOf,
  TOTAL_MS,
} from './limit-store.fixtures.ts';
import { openEmptyStore } from './open-redis-store.ts';

/** Keys of one organization are deleted or evicted, while all other keys stay. */
requirement(missingRedis, () => {
  const redis = opened(startTestRedis);
  let store: RedisLimitStore;
  beforeEach(async () => {
    store = await openEmptyStore(redis, { leaseMs: LEASE_MS });
  });
  afterEach(() => store.close());

  const holdOf = (holdId: string): Hold => ({
    ...{ holdId, organizationId: 'org-1', keyId: 'key-1' },
    ...{ day: DAY, holdNanoUsd: 700n, totalTimeoutMs: TOTAL_MS },
  });
  const live = holdOf('live');
  const at = (ms: number) => NOON_ISH + ms;
  const lose = async (kinds: readonly string[]) => {
    for (const kind of kinds) for (const name of await redis.admin.keys(`*:${kind}:org-1`)) await redis.admin.del(name);
  };
  /** Takes a hold. Resolves with its kind or rule, or `closed`. */
  const tryToTake = (holdId: string, holdNanoUsd: bigint, ms: number) =>
    admitFresh(store, { holdId, holdNanoUsd, nowMs: at(ms) }).then(
      (result) => (result.kind === 'refused' ? result.rule : result.kind),
      (error: unknown) => (error instanceof StoreUnavailable ? 'closed' : String(error)),
    );

  const LOSSES = fc
    .sample(fc.subarray(['org', 'holds', 'leases', 'quarantine'], { minLength: 1 }), { numRuns: 100, seed: 1 })
    .map((kinds) => kinds.join(' '));

  describe.each([...new Set(LOSSES)])('lost: %s', (kinds) => {
    const lost = kinds.split(' ');

    test('held money is not admitted again, and the hold is known again after a lease', async () => {
      expect(await tryToTake('live', 700n, 0)).toBe('admitted');
      await lose(lost);
      expect(await tryToTake('early', 301n, 1)).toMatch(/closed|balance/);
      expect((await store.renew([live], at(4_000))).exposed).toEqual([]);
      await store.renew([live], at(8_000));
      expect(await tryToTake('still early', 301n, 8_001)).toMatch(/closed|balance/);
      await store.renew([live], at(16_000));
      expect(await tryToTake('next', 301n, 20_000)).toBe('balance');
      expect(await tryToTake('fits', 300n, 20_000)).toBe('admitted');
      const none = { nowMs: at(20_001), tokensUsed: 0 };
      await store.release({ ...live, ...none });
      await store.release({ ...live, ...none, holdId: 'fits' });
      expect(await store.heldNanoUsd('org-1', at(20_002))).toBe(0n);
    });

    test('held money is not admitted again if a renewal comes first', async () => {
      expect(await tryToTake('live', 700n, 0)).toBe('admitted');
      await lose(lost);
      expect(await store.renew([live], at(1))).toMatchObject({ exposed: [], failed: [] });
      expect(await tryToTake('early', 301n, 2)).toMatch(/closed|balance/);
      expect(await store.heldNanoUsd('org-1', at(2))).toBe(700n);
    });

    test('the hold of a dead process ends', async () => {
      expect(await tryToTake('live', 700n, 0)).toBe('admitted');
      await lose(lost);
      expect(await tryToTake('early', 301n, 1)).toMatch(/closed|balance/);
      const after = QUARANTINE_MS + 2 * LEASE_MS;
      if ((await tryToTake('finds it', 1_000n, after)) === 'admitted') return;
      expect(await tryToTake('all', 1_000n, after + LEASE_MS)).toBe('admitted');
    });
  });

  test.each([...new Set(LOSSES)])('owed and other holds both stay held. Lost: %s', async (kinds) => {
    const owed = { ...holdOf('owed'), holdNanoUsd: 300n, owedNanoUsd: 200n };
    expect(await tryToTake('owed', 300n, 0)).toBe('admitted');
    await store.release({ ...owed, nowMs: at(0), tokensUsed: 0 });
    expect(await tryToTake('live', 700n, 0)).toBe('admitted');
    await lose(kinds.split(' '));
    expect(await tryToTake('early', 101n, 1)).toMatch(/closed|balance/);
    await store.renew([live, owed], at(4_000));
    await store.renew([live, owed], at(16_000));
    expect(await tryToTake('next', 101n, 20_000)).toBe('balance');
    expect(await tryToTake('fits', 100n, 20_000)).toBe('admitted');
    for (const holdId of ['fits', 'live', 'owed'])
      await store.release({ ...live, holdId, nowMs: at(20_001), tokensUsed: 0 });
    expect(await store.heldNanoUsd('org-1', at(20_002))).toBe(0n);
  });

  test('lost leases are noticed if there is an owed hold too', async () => {
    expect(await tryToTake('owed', 300n, 0)).toBe('admitted');
    await store.release({ ...live, holdId: 'owed', nowMs: at(0), tokensUsed: 0, owedNanoUsd: 200n });
    expect(await tryToTake('live', 700n, 0)).toBe('admitted');
    await lose(['leases']);
    expect(await tryToTake('early', 1n, 1)).toBe('closed');
  });

  test('the hold of a dead process stays held if the hash of its organization is lost', async () => {
    expect(await tryToTake('dead', 700n, 0)).toBe('admitted');
    expect(await tryToTake('other', 301n, LEASE_MS)).toBe('balance');
    await lose(['org']);
    expect(await tryToTake('early', 1n, LEASE_MS + 1)).toBe('closed');
    expect(await tryToTake('later', 301n, 2 * LEASE_MS + 1)).toBe('balance');
    expect(await store.heldNanoUsd('org-1', at(QUARANTINE_MS - 1))).toBe(700n);
    expect(await store.heldNanoUsd('org-1', at(QUARANTINE_MS))).toBe(0n);
  });

  test.each([...new Set(LOSSES)])('the longer budgets of a key count each hold once. Lost: %s', async (kinds) => {
    const mine = (holdNanoUsd: bigint, ms: number, keyLimits: KeyLimits) => ({
      ...{ holdNanoUsd, nowMs: at(ms), keyLimits },
      snapshot: snapshotOf({ balance: 5_000n, monthSpent: 0n, lifetimeSpent: 0n }),
    });
    const longer = { monthlyBudgetNanoUsd: 1_100n, lifetimeBudgetNanoUsd: 1_000n };
    // A hold of yesterday, because an error in its sum would last.
    const yesterdays = { ...live, day: DAY - 1 };
    const gone = { ...live, holdId: 'gone', day: DAY - 2, holdNanoUsd: 100n };
    await store.renew([yesterdays, gone], at(0));
    expect(await admitFresh(store, mine(200n, 0, longer))).toMatchObject({ kind: 'admitted' });
    await lose(kinds.split(' '));
    await admitFresh(store, mine(1n, 1, longer)).catch(() => 'closed');
    await store.renew([yesterdays], at(8_000));
    const ends = QUARANTINE_MS + 2 * LEASE_MS;
    for (let ms = 16_000; ms < ends; ms += 8_000) await store.renew([yesterdays], at(ms));
    expect(await admitFresh(store, mine(301n, ends, longer))).toMatchObject({
      rule: 'lifetime_budget',
      availableNanoUsd: 300n,
    });
    await store.release({ ...live, nowMs: at(ends), tokensUsed: 0 });
    expect(await admitFresh(store, mine(1_000n, ends, longer))).toMatchObject({ kind: 'admitted' });
  });

  test('the longer budgets of a key count its holds if the hash of the key is lost', async () => {
    const keyLimits = { lifetimeBudgetNanoUsd: 1_000n };
    const mine = { keyLimits, snapshot: snapshotOf({ balance: 5_000n, lifetimeSpent: 0n }) };
    const holdId = 'live';
    expect(await admitFresh(store, { ...mine, holdId, holdNanoUsd: 700n })).toMatchObject({ kind: 'admitted' });
    const [name = ''] = await redis.admin.keys('*:key:key-1');
    await redis.admin.del(name);
    expect(await admitFresh(store, { ...mine, holdNanoUsd: 301n })).toMatchObject({ availableNanoUsd: 300n });
    // The same holds if the hold becomes owed in the same call.
    await redis.admin.del(name);
    const request = requestOf({ ...mine, holdNanoUsd: 801n });
    await store.admit(request);
    const [, refused] = await Promise.all([
      store.release({ ...live, holdId, nowMs: at(0), tokensUsed: 0, owedNanoUsd: 200n }),
      store.admit(request),
    ]);
    expect(refused).toMatchObject({ rule: 'lifetime_budget', availableNanoUsd: 800n });
  });

  test('other organizations are admitted meanwhile, also of the same shard', async () => {
    expect(await tryToTake('live', 700n, 0)).toBe('admitted');
    const [name = ''] = await redis.admin.keys('*:org:org-1');
    const shard = name.slice(0, name.indexOf(':org:'));
    const others = [];
    for (let n = 0; n < 400; n++) others.push({ organizationId: `other-${n}`, keyId: `key of ${n}` });
    for (const other of others) await admitFresh(store, other);
    const [neighbour = ''] = await redis.admin.keys(`${shard}:org:other-*`);
    await lose(['org', 'holds', 'leases']);
    expect(await tryToTake('early', 1n, 1)).toBe('closed');
    const organizationId = neighbour.slice(neighbour.indexOf('other-'));
    const keyId = `key of ${organizationId.slice('other-'.length)}`;
    expect(await admitFresh(store, { organizationId, keyId, nowMs: at(1) })).toMatchObject({ kind: 'admitted' });
  });

  test('the expiry of an idle organization is not treated as a loss', async () => {
    expect(await tryToTake('live', 700n, 0)).toBe('admitted');
    await store.release({ ...live, nowMs: at(1), tokensUsed: 0 });
    await lose(['org', 'holds', 'leases', 'quarantine']);
    const twoHours = 2 * 3_600_000;
    expect(await store.admit(requestOf({ nowMs: at(twoHours) }))).toMatchObject({ kind: 'read_again' });
  });
});
