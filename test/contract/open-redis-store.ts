import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import type { TestRedis } from '../harness/redis-server.ts';
import { localFences } from './local-fences.ts';

export interface OpenRedisStoreOptions {
  readonly leaseMs: number;
  readonly idleMs?: number;
  /** The clock of a server that may step. Default: the times that calls pass in. */
  readonly clock?: () => number;
}

/**
 * A store that goes by the times that calls pass in, over an empty Redis that is open to
 * admissions.
 */
export async function openEmptyStore(
  redis: Pick<TestRedis, 'url' | 'empty'>,
  options: OpenRedisStoreOptions,
): Promise<RedisLimitStore> {
  await redis.empty();
  const store = await openStore(redis.url, options);
  const beginning = await store.lossDetection.startOver();
  await beginning.open();
  return store;
}

/** One more process on the same Redis. An answer that comes late on a busy machine is no outage. */
export async function openStore(url: string, options: OpenRedisStoreOptions): Promise<RedisLimitStore> {
  const store = await createRedisLimitStore({
    url,
    log: silent,
    clock: 'caller',
    fences: localFences(),
    replyMs: 20_000,
    ...options,
  });
  // Opens the store as a shared one: no other process opens a new incarnation here.
  store.lossDetection.keepName('of the test', () => {});
  return store;
}

const silent = { info: () => {}, warn: () => {} };
