import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Hold } from '#ext-proc/limits/limit-store.ts';
import type { RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { propertyRuns } from '../fixtures/property-runs.ts';
import { opened } from '../harness/opened.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { createLedgerModel } from './ledger.model.ts';
import {
  admitFresh,
  DAY,
  LEASE_MS,
  NOON_ISH,
  releaseOf,
  requestOf,
  snapshotOf,
  TOTAL_MS,
} from './limit-store.fixtures.ts';
import { openEmptyStore, openStore } from './open-redis-store.ts';

/** Redis loses its data in several ways. Holds must never be lost with it. */
requirement(missingRedis, () => {
  const redis = opened(startTestRedis);
  let store: RedisLimitStore;
  beforeEach(async () => {
    store = await openEmptyStore(redis, { leaseMs: LEASE_MS });
  });
  afterEach(() => store.close());

  const live: Hold = {
    holdId: 'live',
    organizationId: 'org-1',
    keyId: 'key-1',
    day: DAY,
    holdNanoUsd: 700n,
    totalTimeoutMs: TOTAL_MS,
  };
  const takeLive = () => admitFresh(store, { ...live, nowMs: NOON_ISH });
  const at = (ms: number) => NOON_ISH + ms;

  const losses: Readonly<Record<string, () => Promise<unknown>>> = {
    flushed: () => redis.empty(),
    'restarted, empty': () => redis.restart(),
    'restored from a dump of before the hold': () => redis.restart(),
  };

  describe.each(Object.keys(losses))('a Redis that was %s', (how) => {
    beforeEach(async () => {
      // The restored dump has a trusted organization with an old balance.
      if (how.startsWith('restored')) {
        await admitFresh(store, { holdId: 'old', holdNanoUsd: 1n });
        await redis.admin.save();
      }
      expect(await takeLive()).toMatchObject({ kind: 'admitted' });
      await losses[how]?.();
      await expect.poll(() => isAnswering(store)).toBe(true);
    });
    afterEach(async () => {
      await redis.empty();
      if (how.startsWith('restored')) await redis.admin.save();
    });

    test('admits nothing for one lease, and has the live holds after it', async () => {
      await expect(store.admit(requestOf({ nowMs: at(1) }))).rejects.toBeInstanceOf(StoreUnavailable);
      expect(await store.renew([live], at(5_000))).toEqual({ takenBack: ['live'], exposed: [], failed: [] });
      expect(await store.renew([live], at(10_000))).toEqual({ takenBack: [], exposed: [], failed: [] });
      expect(await store.heldNanoUsd('org-1', at(10_000))).toBe(700n);
      await expect(store.admit(requestOf({ nowMs: at(LEASE_MS) }))).rejects.toBeInstanceOf(StoreUnavailable);
      const after = { nowMs: at(1 + LEASE_MS) };
      expect(await store.admit(requestOf(after))).toEqual({ kind: 'read_again', day: DAY });
      expect(await admitFresh(store, { ...after, holdNanoUsd: 301n })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 300n,
      });
      expect(await admitFresh(store, { ...after, concurrency: 1 })).toMatchObject({ rule: 'concurrency' });
      const budget = { organizationLimits: { dailyBudgetNanoUsd: 701n } };
      expect(await admitFresh(store, { ...after, ...budget, holdNanoUsd: 2n })).toMatchObject({ rule: 'daily_budget' });
      const keyBudget = { keyLimits: { dailyBudgetNanoUsd: 701n } };
      expect(await admitFresh(store, { ...after, ...keyBudget, holdNanoUsd: 2n })).toMatchObject({
        rule: 'daily_budget',
      });
      expect(await admitFresh(store, { ...after, holdNanoUsd: 300n })).toMatchObject({ kind: 'admitted' });
    });

    test('registers a hold again once, and releases it once', async () => {
      await store.renew([live], at(1));
      await store.renew([live, live], at(2));
      expect(await store.heldNanoUsd('org-1', at(2))).toBe(700n);
      const release = { ...live, nowMs: at(3), tokensUsed: 10 };
      await store.release(release);
      await store.release(release);
      expect(await store.heldNanoUsd('org-1', at(4))).toBe(0n);
      const organizationLimits = { tokensPerMinute: 10 };
      // The window was lost, so the release does not correct its tokens.
      expect(await admitFresh(store, { nowMs: at(1 + LEASE_MS), organizationLimits, tokens: 10 })).toMatchObject({
        kind: 'admitted',
        windows: { tokens: { remaining: 0 } },
      });
    });

    test('registers an owed hold again without a slot', async () => {
      const owed = { ...live, owedNanoUsd: 300n };
      expect(await store.renew([owed], at(1))).toEqual({ takenBack: ['live'], exposed: [], failed: [] });
      expect(await store.renew([owed, live], at(2))).toEqual({ takenBack: [], exposed: [], failed: [] });
      expect(await store.heldNanoUsd('org-1', at(LEASE_MS))).toBe(300n);
      const nowMs = at(1 + LEASE_MS);
      expect(await admitFresh(store, { nowMs, concurrency: 1, holdNanoUsd: 701n })).toMatchObject({ rule: 'balance' });
      expect(await admitFresh(store, { nowMs, concurrency: 1, holdNanoUsd: 700n })).toMatchObject({ kind: 'admitted' });
      await store.release({ ...releaseOf('live'), nowMs });
      expect(await store.heldNanoUsd('org-1', nowMs)).toBe(700n);
    });

    test('reports a hold that was not renewed in time as exposed, and registers it again', async () => {
      await expect(store.admit(requestOf({ nowMs: at(0) }))).rejects.toBeInstanceOf(StoreUnavailable);
      expect(await store.renew([live], at(LEASE_MS))).toEqual({ takenBack: ['live'], exposed: ['live'], failed: [] });
      expect(await store.heldNanoUsd('org-1', at(LEASE_MS))).toBe(700n);
    });

    test('does not trust snapshots that were read before the loss', async () => {
      const told = requestOf({ nowMs: at(0) });
      await expect(store.admit(told)).rejects.toBeInstanceOf(StoreUnavailable);
      const late = { ...told, nowMs: at(LEASE_MS), snapshot: snapshotOf({ balance: 9_999n }) };
      expect(await store.admit(late)).toMatchObject({ kind: 'read_again' });
    });
  });

  test('only the shard that was lost is closed', async () => {
    const other = { organizationId: 'org-7', keyId: 'key-7' };
    await takeLive();
    await admitFresh(store, other);
    const [marker] = await redis.admin
      .keys('gateway:{*}:org:org-1')
      .then((found) => found.map((name) => name.replace(/org:org-1$/, 'shard')));
    await redis.admin.del(String(marker));
    await expect(store.admit(requestOf())).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await admitFresh(store, other)).toMatchObject({ kind: 'admitted' });
  });

  test('a clock that goes back closes a shard for at most one lease, and an open shard not at all', async () => {
    await redis.empty();
    const HOUR_MS = 3_600_000;
    const isOut = (ms: number) =>
      expect(store.admit(requestOf({ nowMs: at(ms) }))).rejects.toBeInstanceOf(StoreUnavailable);
    await isOut(0);
    await isOut(-HOUR_MS);
    await isOut(LEASE_MS - 1 - HOUR_MS);
    expect(await admitFresh(store, { nowMs: at(LEASE_MS - HOUR_MS) })).toMatchObject({ kind: 'admitted' });
    expect(await admitFresh(store, { holdId: 'earlier', nowMs: at(-2 * HOUR_MS) })).toMatchObject({ kind: 'admitted' });
  });

  test('a process that starts does not open shards that others have closed', async () => {
    const second = await openStore(redis.url, { leaseMs: LEASE_MS });
    expect(await second.lossDetection.opensInMs()).toBe(0);
    const beginning = await second.lossDetection.startOver();
    await expect(store.admit(requestOf({ nowMs: Date.now() }))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await second.lossDetection.opensInMs()).toBeGreaterThan(LEASE_MS - 5_000);
    await redis.empty();
    await expect(store.admit(requestOf({ nowMs: Date.now() }))).rejects.toBeInstanceOf(StoreUnavailable);
    await beginning.open();
    await expect(store.admit(requestOf({ nowMs: Date.now() }))).rejects.toBeInstanceOf(StoreUnavailable);
    await second.close();
  });

  test('no balance is exceeded, whenever data is lost', { timeout: 60_000 }, async () => {
    const afterLoss = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 5, maxLength: 150, size: 'max' }), (moves) =>
        neverBeyond(redis, moves, afterLoss),
      ),
      { numRuns: propertyRuns(150) },
    );
    expect([...afterLoss].sort()).toEqual(['admitted', 'refused']);
  });
});

const move = fc.oneof(
  { weight: 16, arbitrary: fc.record({ kind: fc.constant('admit'), holdNanoUsd: fc.bigInt({ min: 1n, max: 600n }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle'), pick: fc.nat(), share: fc.nat(100) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('release'), pick: fc.nat() }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('advance'), ms: fc.constantFrom(1, 2_000, LEASE_MS, LEASE_MS) }),
  },
  // Rare, because nothing is admitted for one lease after it.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('flush') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('lose keys'),
      kinds: fc.oneof(
        fc.subarray(['org:', 'holds:', 'leases:', 'quarantine:', 'key:'], { minLength: 1 }),
        fc.constantFrom(['org:'], ['org:', 'holds:', 'leases:'], ['org:', 'holds:', 'leases:'], ['shard']),
      ),
    }),
  },
);
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

const RENEWED_EVERY_MS = 5_000;

interface Held extends Hold {
  charged: boolean;
}

/**
 * Processes renew as often as the gateway does. Charges commit before their
 * holds are released. Adds to `afterLoss` how admissions end after data was lost with holds in it.
 */
async function neverBeyond(redis: TestRedis, moves: readonly Move[], afterLoss: Set<string>): Promise<void> {
  const store = await openEmptyStore(redis, { leaseMs: LEASE_MS });
  const ledger = createLedgerModel(1_000n);
  const subject = { organizationId: 'org-1', keyId: 'key-1' };
  const holds: Held[] = [];
  let nowMs = NOON_ISH;
  let requests = 0;
  let hasLost = false;
  const read = () => ledger.read(subject.organizationId, subject.keyId, DAY);

  async function admit(holdNanoUsd: bigint): Promise<void> {
    const holdId = `h${requests++}`;
    const request = requestOf({ ...subject, holdId, holdNanoUsd, nowMs, concurrency: 1_000, snapshot: read() });
    const result = await admitFresh(store, request).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
    });
    if (hasLost && result) afterLoss.add(result.kind);
    if (result?.kind !== 'admitted') return;
    holds.push({ holdId, ...subject, day: DAY, holdNanoUsd, totalTimeoutMs: TOTAL_MS, charged: false });
    const held = holds.reduce((sum, hold) => sum + (hold.charged ? 0n : hold.holdNanoUsd), 0n);
    expect(read().organization.balanceNanoUsd - held).toBeGreaterThanOrEqual(0n);
  }

  for (const current of moves) {
    hasLost ||= holds.length > 0 && (current.kind === 'flush' || current.kind === 'lose keys');
    if (current.kind === 'admit') await admit(current.holdNanoUsd);
    else if (current.kind === 'advance') {
      for (let leftMs = current.ms; leftMs > 0; leftMs -= RENEWED_EVERY_MS) {
        nowMs += Math.min(leftMs, RENEWED_EVERY_MS);
        await store.renew(holds, nowMs);
      }
    } else if (current.kind === 'flush') await redis.empty();
    else if (current.kind === 'lose keys') {
      for (const kind of current.kinds)
        for (const name of await redis.admin.keys(`*:${kind}*`)) await redis.admin.del(name);
    } else if (current.kind === 'settle') {
      const hold = holds[current.pick % Math.max(1, holds.length)];
      if (!hold || hold.charged) continue;
      hold.charged = true;
      ledger.charge(hold.holdId, hold, DAY, (hold.holdNanoUsd * BigInt(current.share)) / 100n);
    } else {
      const index = current.pick % Math.max(1, holds.length);
      const [hold] = holds.splice(index, 1);
      if (!hold) continue;
      await store.release({ ...hold, nowMs, tokensUsed: 1, ...(hold.charged ? { snapshot: read() } : {}) });
    }
  }
  await store.close();
}

async function isAnswering(store: RedisLimitStore): Promise<boolean> {
  return store.takeRead('probe', 1_000, NOON_ISH).then(
    () => true,
    () => false,
  );
}
