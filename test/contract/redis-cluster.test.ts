import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { missingRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { limitStoreContract } from './limit-store.contract.ts';
import { admitFresh, LEASE_MS } from './limit-store.fixtures.ts';
import { localFences } from './local-fences.ts';
import { openEmptyStore } from './open-redis-store.ts';
import { emptyNodes, startClusterNodes } from './redis-cluster-nodes.ts';

requirement(missingRedis, () => {
  let nodes: TestRedis[] = [];
  beforeAll(async () => {
    nodes = await startClusterNodes();
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));

  const wholeCluster = (): Pick<TestRedis, 'url' | 'empty'> => ({
    url: nodes[0]?.url ?? '',
    empty: () => emptyNodes(nodes),
  });

  limitStoreContract('Redis Cluster', (options) => openEmptyStore(wholeCluster(), options));

  describe('on Redis Cluster', () => {
    const organizations = Array.from({ length: 12 }, (_, n) => ({ organizationId: `org-${n}`, keyId: `key-${n}` }));

    test('every call uses one slot, and organizations are distributed over all nodes', async () => {
      const store = await openEmptyStore(wholeCluster(), { leaseMs: LEASE_MS });
      for (const subject of organizations) expect(await admitFresh(store, subject)).toMatchObject({ kind: 'admitted' });
      for (const { admin } of nodes) expect((await admin.keys('*:holds:*')).length).toBeGreaterThan(0);
      await store.close();
    });

    test('several nodes may be named, and one of them may be down', async () => {
      const [away] = await freePorts(1);
      const url = `redis://127.0.0.1:${away},127.0.0.1:${nodes[1]?.port}`;
      const log = { info: () => {}, warn: () => {} };
      const store = await createRedisLimitStore({
        url,
        log,
        leaseMs: LEASE_MS,
        clock: 'server',
        fences: localFences(),
      });
      for (const { keyId } of organizations) expect(await store.takeRead(keyId, 5, 0)).toEqual({ allowed: true });
      await store.close();
    });

    test('the loss of one node closes only the organizations on it', async () => {
      const store = await openEmptyStore(wholeCluster(), { leaseMs: LEASE_MS });
      for (const subject of organizations) await admitFresh(store, subject);
      await nodes[0]?.empty();
      const results = await Promise.allSettled(organizations.map((subject) => admitFresh(store, subject)));
      const kinds = new Set(results.map(({ status }) => status));
      expect(kinds).toEqual(new Set(['fulfilled', 'rejected']));
      await store.close();
    });
  });
});
