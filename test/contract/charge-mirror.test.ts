import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChargeMirror } from '#ext-proc/limits/charge-mirror.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { localFences } from './local-fences.ts';
import { startClusterNodes } from './redis-cluster-nodes.ts';

const silent = { info: () => {}, warn: () => {} };

requirement(missingRedis, () => {
  describe.each([
    ['one server', async () => [await startTestRedis()]],
    ['a cluster', () => startClusterNodes()],
  ] as const)('copies of charges in %s', (_, start) => {
    let nodes: TestRedis[] = [];
    let store: RedisLimitStore;
    let mirror: ChargeMirror;
    beforeAll(async () => {
      nodes = await start();
      const url = nodes[0]?.url ?? '';
      store = await createRedisLimitStore({
        url,
        log: silent,
        leaseMs: 15_000,
        clock: 'server',
        fences: localFences(),
        replyMs: 20_000,
      });
      mirror = store.chargeMirror;
    });
    afterAll(async () => {
      await store?.close();
      await Promise.all(nodes.map((node) => node.stop()));
    });

    const charge = (n: number) => ({ organizationId: `org-${n}`, generationId: `gen-${n}`, text: `{"n":"${n}"}` });

    it('are kept once each, on whatever node, until they are removed', async () => {
      const charges = Array.from({ length: 12 }, (_, n) => charge(n));
      for (const one of [...charges, ...charges]) expect(await mirror.add(one)).toBe('kept');
      const listed = (await mirror.list()).toSorted(
        (a, b) => Number(a.text.slice(6, -2)) - Number(b.text.slice(6, -2)),
      );
      expect(listed).toEqual(charges);
      await Promise.all(charges.map(mirror.remove));
      expect(await mirror.list()).toEqual([]);
    });

    it('exclude claims that were taken over, and the other way round', async () => {
      expect(await mirror.add(charge(1))).toBe('kept');
      expect(await mirror.takeOverClaim('org-1', 'gen-1')).toBe(false);
      expect(await mirror.takeOverClaim('org-2', 'gen-2')).toBe(true);
      expect(await mirror.takeOverClaim('org-2', 'gen-2')).toBe(true);
      expect(await mirror.add(charge(2))).toBe('taken_over');
      await mirror.remove(charge(1));
    });

    it('are bounded in number and size', async () => {
      expect(await mirror.add({ ...charge(3), text: 'x'.repeat(9_000) })).toBe('full');
      const results = new Map<string, number>();
      for (let n = 0; n < 1_010; n++) {
        const kept = await mirror.add({ ...charge(4), generationId: `gen-${n}` });
        results.set(kept, (results.get(kept) ?? 0) + 1);
      }
      expect(Object.fromEntries(results)).toEqual({ kept: 1_000, full: 10 });
      expect(await mirror.add({ ...charge(4), generationId: 'gen-7' })).toBe('kept');
    });

    it('whose key was overwritten do not hide the others', async () => {
      await Promise.all(nodes.map((node) => node.empty()));
      for (let n = 0; n < 12; n++) await mirror.add(charge(n));
      const [key = ''] = (await Promise.all(nodes.map(({ admin }) => admin.keys('*:mirrored-charges')))).flat();
      const owner = (await Promise.all(nodes.map(async (node) => [node, await node.admin.keys(key)] as const))).find(
        ([, keys]) => keys.length > 0,
      );
      const lost = await owner?.[0].admin.hkeys(key);
      await owner?.[0].admin.set(key, 'x');
      const left = (await mirror.list()).map(({ organizationId, generationId }) => `${organizationId}|${generationId}`);
      expect(left.length).toBeGreaterThan(0);
      expect([...left, ...(lost ?? [])].toSorted()).toEqual(
        Array.from({ length: 12 }, (_, n) => `org-${n}|gen-${n}`).toSorted(),
      );
    });
  });
});
