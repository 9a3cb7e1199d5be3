import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { within } from '#core/within.ts';
import { connectRedis } from '#ext-proc/limits/redis/connection.ts';
import { LossDetection } from '#ext-proc/limits/redis/loss-detection.ts';
import { RedisRefused } from '#ext-proc/limits/redis/redis-errors.ts';
import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import { lookAtLimitStore } from '#operator/doctor/limit-store.ts';
import { missingRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { LEASE_MS } from './limit-store.fixtures.ts';
import { localFences } from './local-fences.ts';
import { startClusterNodes } from './redis-cluster-nodes.ts';

const SHORT_LEASE_MS = 1_000;
/** Each node may take seconds to be called unavailable, and twelve starts share the machine. */
const ENDS_WITHIN_MS = 25_000;

/** The URL names the first master. Only the second one is not as it should be. */
requirement(missingRedis, () => {
  let nodes: TestRedis[] = [];
  let second: TestRedis;
  let lines: unknown[][];
  beforeAll(async () => {
    nodes = await startClusterNodes();
    second = nodes[1] as TestRedis;
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));
  beforeEach(() => {
    lines = [];
  });

  const url = () => nodes[0]?.url ?? '';
  const address = () => `127.0.0.1:${second.port}`;
  const log = (...line: unknown[]) => void lines.push(line);
  const open = (leaseMs = LEASE_MS): Promise<RedisLimitStore> =>
    createRedisLimitStore({
      ...{ url: url(), leaseMs, clock: 'server', fences: localFences() },
      log: { info: log, warn: log },
    });
  /** What the doctor does not find well. */
  const found = async () =>
    (await lookAtLimitStore({ kind: 'url', url: url() }))
      .filter(({ check, verdict }) => verdict !== 'ok' && check !== 'redis latency')
      .map(({ verdict, check, found: text }) => `${verdict} ${check}: ${text}`);
  const evict = (policy: string) => second.admin.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', policy);

  test('a start with a healthy cluster logs nothing, and the doctor finds it well', async () => {
    const store = await open();
    await store.close();
    expect(lines).toEqual([]);
    expect(await found()).toEqual([]);
  });

  test('a master that evicts is refused and found by its address', async () => {
    await evict('allkeys-lru');
    const refusal: unknown = await open().catch((error: unknown) => error);
    const problems = await found();
    await evict('noeviction');
    expect(refusal).toBeInstanceOf(RedisRefused);
    expect(String(refusal)).toContain(`${address()}: Redis evicts keys`);
    expect(problems).toEqual([expect.stringMatching(`^problem redis memory: ${address()}: .*allkeys-lru$`)]);
  });

  test('a master that evicts later is logged once, with its address', async () => {
    const store = await open();
    store.lossDetection.keepName('of the test', () => {});
    await evict('allkeys-lru');
    await store.lossDetection.opensInMs('all');
    const logged = () => lines.filter(([, message]) => String(message).includes('evicts'));
    await expect.poll(() => logged().length).toBe(1);
    for (let touches = 0; touches < 3; touches++) await store.lossDetection.opensInMs('all');
    await evict('noeviction');
    await store.close();
    const evicts = [{ masters: [`${address()} allkeys-lru`] }, expect.stringContaining('noeviction')];
    expect(logged()).toEqual([evicts]);
  });

  test('no touch waits for the list of masters that evict', async () => {
    const connection = await connectRedis({ url: url(), log: { info: log, warn: log } });
    const lossDetection = new LossDetection(connection, {
      ...{ leaseMs: LEASE_MS, clock: () => '', fences: localFences(), log: { info: log, warn: log } },
      evictingMasters: () => Promise.withResolvers<string[]>().promise,
    });
    await evict('allkeys-lru');
    const isTouched = await within(lossDetection.opensInMs('all'), 5_000);
    await evict('noeviction');
    await connection.close();
    expect(isTouched).toBe(true);
  });

  test('a master that comes back empty and evicts stays closed until it no longer does', async () => {
    const store = await open(SHORT_LEASE_MS);
    store.lossDetection.keepName('of the test', () => {});
    const closed = async () => {
      await store.lossDetection.opensInMs('all');
      return store.lossDetection.closedShards;
    };
    await expect.poll(closed).toBe(0);
    await evict('allkeys-lru');
    await second.empty();
    const lost = await closed();
    await sleep(2 * SHORT_LEASE_MS);
    const later = await closed();
    await evict('noeviction');
    await expect.poll(closed).toBe(0);
    await store.close();
    expect([lost > 0, later]).toEqual([true, lost]);
  });

  test('a master that lacks rights is refused and found by its address', async () => {
    await second.admin.call('ACL', 'SETUSER', 'default', '-zcard');
    const refusal: unknown = await open().catch((error: unknown) => error);
    const problems = await found();
    await second.admin.call('ACL', 'SETUSER', 'default', '+zcard');
    expect(String(refusal)).toMatch(new RegExp(`^RedisRefused: ${address()}: .* ZCARD`, 'i'));
    expect(problems).toEqual([expect.stringMatching(`^problem redis: not usable: ${address()}: .*ZCARD`)]);
  });

  test('a start while a master does not answer ends: it opens, or Redis is unavailable', async () => {
    process.kill(second.pid, 'SIGSTOP');
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const opened = open().then(
          (store) => store.close(),
          (error: unknown) => expect(error).toBeInstanceOf(StoreUnavailable),
        );
        return within(opened, ENDS_WITHIN_MS);
      }),
    ).finally(() => process.kill(second.pid, 'SIGCONT'));
    expect(outcomes).toEqual(outcomes.map(() => true));
  });

  test('a master that does not answer is found by its address', async () => {
    process.kill(second.pid, 'SIGSTOP');
    const problems = await found().finally(() => process.kill(second.pid, 'SIGCONT'));
    expect(problems).toEqual([expect.stringMatching(`^problem redis: not usable: ${address()}: `)]);
  });
});
