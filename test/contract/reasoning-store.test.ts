import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { createMemoryReasoningStore } from '#ext-proc/limits/reasoning/memory-reasoning-store.ts';
import { REASONING_BOUNDS } from '#ext-proc/limits/reasoning/reasoning-store.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { localFences } from './local-fences.ts';
import { reasoningStoreContract } from './reasoning-store.contract.ts';
import { startClusterNodes } from './redis-cluster-nodes.ts';

reasoningStoreContract('memory', async (options) => createMemoryReasoningStore(options));

const options = { bounds: REASONING_BOUNDS, clock: systemClock, onEvicted: () => {} };
const message = { organizationId: 'org-1', name: 'one', sealed: Buffer.from('sealed') };
const silent = { info: () => {}, warn: () => {} };

const usedBytes = (memory: string): number => Number(/used_memory:(\d+)/.exec(memory)?.[1]);

function openRedisStore(url: string): Promise<RedisLimitStore> {
  const settings = { url, log: silent, leaseMs: 15_000, fences: localFences(), replyMs: 20_000 };
  return createRedisLimitStore({ ...settings, clock: 'server' });
}

requirement(missingRedis, () => {
  describe.each([
    ['one Redis', async () => [await startTestRedis()]],
    ['a cluster of Redis', () => startClusterNodes()],
  ] as const)('%s', (name, start) => {
    let nodes: TestRedis[] = [];
    const processes: RedisLimitStore[] = [];
    beforeAll(async () => {
      nodes = await start();
      for (let n = 0; n < 2; n++) processes.push(await openRedisStore(nodes[0]?.url ?? ''));
    });
    afterAll(async () => {
      await Promise.all(processes.map((one) => one.close()));
      await Promise.all(nodes.map((node) => node.stop()));
    });

    const [first, second] = [() => processes[0] as RedisLimitStore, () => processes[1] as RedisLimitStore];

    reasoningStoreContract(name, async (settings) => {
      await Promise.all(nodes.map((node) => node.empty()));
      return first().keepReasoning(settings);
    });

    it('lets every process find messages that another one has kept', async () => {
      await Promise.all(nodes.map((node) => node.empty()));
      await first().keepReasoning(options).keep(message);
      expect(await second().keepReasoning(options).find('org-1', ['one'], 1_000)).toEqual([message.sealed]);
      expect(await second().keepReasoning(options).find('org-2', ['one'], 1_000)).not.toEqual([message.sealed]);
    });

    it('leaves half of the memory to the holds', async () => {
      await Promise.all(nodes.map((node) => node.empty()));
      const limit = async (bytes: number) => {
        for (const { admin } of nodes) await admin.config('SET', 'maxmemory', `${bytes}`);
      };
      const store = first().keepReasoning(options);
      const [before, after] = [
        { ...message, name: 'before' },
        { ...message, name: 'after' },
      ];
      await store.keep(before);
      // More than the used memory, and less than twice as much.
      const used = await Promise.all(nodes.map(async ({ admin }) => usedBytes(await admin.info('memory'))));
      await limit(Math.ceil(1.5 * Math.max(...used)));
      for (const one of [before, after]) expect(await store.keep(one)).toBe('full');
      await limit(0);
      await store.keep(after);
      expect(await store.find('org-1', ['before', 'after'], 1_000)).toEqual([undefined, undefined]);
      expect(await store.keep(message)).toBe('kept');
      expect(await store.find('org-1', ['one'], 1_000)).toEqual([message.sealed]);
    });
  });
});
