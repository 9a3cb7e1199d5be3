import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { organizationKeys } from '#ext-proc/limits/redis/redis-keys.ts';
import type { RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { missingRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { admitFresh, DAY, LEASE_MS, NOON_ISH } from './limit-store.fixtures.ts';
import { openEmptyStore } from './open-redis-store.ts';
import { beginMoving, emptyNodes, type MovingSlot, startClusterNodes } from './redis-cluster-nodes.ts';

/** A slot moves to a node without the scripts, while a process uses it. */
requirement(missingRedis, () => {
  /** The id of both organization and key, so that all data is in one slot. */
  const ID = 'somebody';
  let nodes: TestRedis[] = [];
  let store: RedisLimitStore;
  let slot: number;
  /** The node that has the slot. */
  let home: TestRedis;
  let other: TestRedis;
  let reads: number;

  beforeAll(async () => {
    nodes = await startClusterNodes();
    const [first, second] = nodes as [TestRedis, TestRedis];
    slot = Number(await first.admin.call('CLUSTER', 'KEYSLOT', organizationKeys(ID).shard));
    [home, other] = slot < 8192 ? [first, second] : [second, first];
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));
  beforeEach(async () => {
    store = await openEmptyStore({ url: home.url, empty: () => emptyNodes(nodes) }, { leaseMs: LEASE_MS });
    reads = 0;
    await countsOn();
    await other.admin.script('FLUSH');
  });
  afterEach(() => store?.close());

  /**
   * Expects exactly one more read to be allowed, so that no call was lost and none was executed
   * twice.
   */
  async function countsOn(): Promise<void> {
    reads += 1;
    expect(await store.takeRead(ID, reads, NOON_ISH)).toEqual({ allowed: true });
    expect(await store.takeRead(ID, reads, NOON_ISH)).toMatchObject({ allowed: false });
  }

  async function finish(moving: MovingSlot): Promise<void> {
    await moving.moveKeys();
    await moving.end();
    [home, other] = [other, home];
  }

  test('calls follow the slot (MOVED)', async () => {
    await finish(await beginMoving(slot, home, other));
    await countsOn();
  });

  test('calls follow the keys of the slot while they move (ASK)', async () => {
    const moving = await beginMoving(slot, home, other);
    await countsOn();
    await moving.moveKeys();
    await countsOn();
    await finish(moving);
    await countsOn();
  });

  test('calls follow a slot that is moving back already (MOVED, then ASK)', async () => {
    await finish(await beginMoving(slot, home, other));
    const back = await beginMoving(slot, home, other);
    await back.moveKeys();
    await other.admin.script('FLUSH');
    await countsOn();
    await finish(back);
  });

  test('a call for keys of which some have moved is StoreUnavailable until all have (TRYAGAIN)', async () => {
    expect(await admitFresh(store, { organizationId: ID, keyId: ID })).toMatchObject({ kind: 'admitted' });
    const moving = await beginMoving(slot, home, other);
    await moving.moveKeys(':shard');
    await expect(store.heldNanoUsd(ID, NOON_ISH)).rejects.toThrow(StoreUnavailable);
    await finish(moving);
    // The new node has no holds yet.
    expect(await store.heldNanoUsd(ID, NOON_ISH)).toBe(0n);
  });

  test('a new node is a new incarnation: live holds are registered there, and admissions wait for one lease', async () => {
    const asked = { organizationId: ID, keyId: ID, holdId: 'live' };
    expect(await admitFresh(store, asked)).toMatchObject({ kind: 'admitted' });
    await finish(await beginMoving(slot, home, other));
    await expect(admitFresh(store, { organizationId: ID, keyId: ID })).rejects.toThrow(/lost its holds/);
    const live = { ...asked, day: DAY, holdNanoUsd: 100n, totalTimeoutMs: 1_000 };
    for (const takenBack of [['live'], []])
      expect(await store.renew([live], NOON_ISH + LEASE_MS - 1)).toEqual({ takenBack, exposed: [], failed: [] });
    const nowMs = NOON_ISH + LEASE_MS;
    expect(await admitFresh(store, { organizationId: ID, keyId: ID, nowMs })).toMatchObject({ kind: 'admitted' });
    expect(await store.heldNanoUsd(ID, nowMs)).toBe(200n);
  });
});
