import { createRedisLimitStore, type RedisLimitStore } from '#ext-proc/limits/redis/redis-limit-store.ts';
import type { TestRedis } from '../harness/redis-server.ts';
import { localFences } from './local-fences.ts';

export interface OpenRedisStoreOptions {
  readonly leaseMs: number;
  readonly idleMs?: number;
  /** The clock of a server that may step. By default the times of the calls are used. */
  readonly clock?: () => number;
}

/**
 * Opens a store that uses the times of its calls, with an empty Redis that is open for admissions.
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

/** Opens another process's store. Its time-out is long, because a busy machine may be late. */
export async function openStore(url: string, options: OpenRedisStoreOptions): Promise<RedisLimitStore> {
  const store = await createRedisLimitStore({
    url,
    log: silent,
    clock: 'caller',
    fences: localFences(),
    replyMs: 20_000,
    ...options,
  });
  // Gives the store a name, without which it opens no incarnation.
  store.lossDetection.keepName('of the test', () => {});
  return store;
}

const silent = { info: () => {}, warn: () => {} };
