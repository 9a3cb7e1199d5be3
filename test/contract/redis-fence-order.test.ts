import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createShardFences, type FenceRow, type ReadFences } from '#database/limits-ownership/shard-fences.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';

/** Processes that open the same shards write fences in another order than they raised them. */
const LEASE_MS = 300;
const log = { info: () => {}, warn: () => {} };

interface Process {
  readonly store: RedisLimitStore;
  readonly fences: ReadFences;
  /** Resolves when PostgreSQL has the fence of this process. Redis gets it after `give()`. */
  readonly raised: Promise<void>;
  readonly give: () => void;
}

requirement(missingRedis, () => {
  let redis: TestRedis;
  let written: string;
  const stores: RedisLimitStore[] = [];

  beforeAll(async () => {
    redis = await startTestRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    await redis.empty();
    written = '0';
  });
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));

  async function startProcess(): Promise<Process> {
    const raised = Promise.withResolvers<void>();
    const gives = Promise.withResolvers<void>();
    const row: FenceRow = {
      async replace(from, to) {
        if (written !== from) return false;
        written = to;
        raised.resolve();
        await gives.promise;
        return true;
      },
      read: async () => written,
    };
    const fences = createShardFences(row);
    const store = await createRedisLimitStore({
      ...{ url: redis.url, log, leaseMs: LEASE_MS, clock: 'server', fences, replyMs: 20_000 },
    });
    store.lossDetection.keepName('of the test', () => {});
    stores.push(store);
    return { store, fences, raised: raised.promise, give: gives.resolve };
  }

  const fence = () => redis.admin.hget('gateway:{0}:shard', 'fence');

  test.each([
    ['raised last', 0, 1],
    ['raised first', 1, 0],
  ])(
    'a shard has the newest fence and opens, also when the process that %s is the last to write',
    async (_, one, other) => {
      const processes = [await startProcess(), await startProcess()] as const;
      const opening: Promise<number>[] = [];
      for (const { store, raised } of processes) {
        opening.push(store.lossDetection.opensInMs());
        await raised;
      }
      for (const index of [one, other]) {
        processes[index]?.give();
        await opening[index];
      }
      expect(await fence()).toBe('2');
      expect(written).toBe('2');
      for (const { store } of processes) await expect.poll(() => store.lossDetection.opensInMs()).toBe(0);
    },
  );

  test('a process that ends between raising and writing its fence does not keep a shard closed', async () => {
    const [ends, other] = [await startProcess(), await startProcess()];
    void ends.store.lossDetection.opensInMs().catch(() => undefined);
    await ends.raised;
    other.give();
    await other.store.lossDetection.opensInMs();
    expect(await fence()).toBe('2');
    await expect.poll(() => other.store.lossDetection.opensInMs()).toBe(0);
    ends.give();
  });

  test('a process does not raise a fence while another one is about to write its own', async () => {
    const [one, other] = [await startProcess(), await startProcess()];
    const opening = one.store.lossDetection.opensInMs();
    await one.raised;
    const waiting = other.store.lossDetection.opensInMs();
    one.give();
    await Promise.all([opening, waiting]);
    expect([written, await fence()]).toEqual(['1', '1']);
  });

  test('a process writes the fence that it raised, not one that it read meanwhile', async () => {
    const { store, fences, raised, give } = await startProcess();
    const opening = store.lossDetection.opensInMs();
    await raised;
    fences.observe('2', performance.now());
    give();
    await opening;
    expect(await fence()).toBe('1');
    expect(await store.lossDetection.opensInMs()).toBe(LEASE_MS);
  });
});
