import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SHARDS } from '#database/limits-ownership/shard-fences.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { missingRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { localFences } from './local-fences.ts';
import { emptyNodes, startClusterNodes } from './redis-cluster-nodes.ts';

const LEASE_MS = 1_000;
/** The node with the name of the store, and the other one. */
const NODES = [0, 1];

requirement(missingRedis, () => {
  let nodes: TestRedis[] = [];
  let store: RedisLimitStore;
  let lines: string[];
  beforeAll(async () => {
    const settings = ['--cluster-require-full-coverage', 'no', '--cluster-node-timeout', '60000'];
    nodes = await startClusterNodes({ settings: () => settings });
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));
  beforeEach(async () => {
    lines = [];
    await emptyNodes(nodes);
    store = await open();
    store.lossDetection.keepName('of the test', () => {});
    const beginning = await store.lossDetection.startOver();
    await beginning.open();
    expect(await store.lossDetection.opensInMs('all')).toBe(0);
    lines = [];
  });
  afterEach(() => store.close());

  const nodeAt = (index: number): TestRedis => nodes[index] as TestRedis;
  function open(): Promise<RedisLimitStore> {
    const log = (_fields: object, message: string) => void lines.push(message);
    const options = { url: nodeAt(0).url, leaseMs: LEASE_MS, clock: 'server' as const, fences: localFences() };
    return createRedisLimitStore({ ...options, log: { info: log, warn: log } });
  }

  const CLOSED = 'shards of Redis are closed: their organizations get no_capacity';
  const ALL_OPEN = 'all shards of Redis are open';
  const allOpen = () => expect.poll(() => store.lossDetection.opensInMs('all')).toBe(0);

  describe.each(NODES)('while master %i of a cluster', (index) => {
    test('does not answer, the others admit, and one line tells when that begins and ends', async () => {
      process.kill(nodeAt(index).pid, 'SIGSTOP');
      try {
        // A readiness probe does not wait for the master that does not answer.
        let areAllKnown = false;
        const all = store.lossDetection.opensInMs('all').finally(() => {
          areAllKnown = true;
        });
        expect([await store.lossDetection.opensInMs(), areAllKnown]).toEqual([0, false]);
        expect([await all, await store.lossDetection.opensInMs('all')]).toEqual([LEASE_MS, LEASE_MS]);
        expect(store.lossDetection.closedShards).toBe(SHARDS / 2);
        expect(lines).toEqual([CLOSED]);
      } finally {
        process.kill(nodeAt(index).pid, 'SIGCONT');
      }
      await allOpen();
      expect(store.lossDetection.closedShards).toBe(0);
      expect(lines).toEqual([CLOSED, ALL_OPEN]);
    });

    test('has lost its data, the others admit, and its own shards open after a lease', async () => {
      await nodeAt(index).empty();
      expect(await store.lossDetection.opensInMs()).toBe(0);
      expect(await store.lossDetection.opensInMs('all')).toBeGreaterThan(0);
      expect(store.lossDetection.closedShards).toBe(SHARDS / 2);
      await allOpen();
      expect(lines).toEqual([CLOSED, ALL_OPEN]);
    });
  });

  test('a master that lost its data opens although another one does not answer', async () => {
    process.kill(nodeAt(1).pid, 'SIGSTOP');
    try {
      await nodeAt(0).empty();
      await expect.poll(() => store.lossDetection.opensInMs(), { interval: 100 }).toBeGreaterThan(0);
      await expect.poll(() => store.lossDetection.opensInMs(), { interval: 100 }).toBe(0);
    } finally {
      process.kill(nodeAt(1).pid, 'SIGCONT');
    }
  });

  test('all masters that do not answer make the store unavailable', async () => {
    for (const { pid } of nodes) process.kill(pid, 'SIGSTOP');
    try {
      await expect(store.lossDetection.opensInMs()).rejects.toHaveProperty('name', 'StoreUnavailable');
      expect(store.lossDetection.closedShards).toBe(SHARDS);
      expect(lines).toEqual([CLOSED]);
    } finally {
      for (const { pid } of nodes) process.kill(pid, 'SIGCONT');
    }
    await allOpen();
  });
});
