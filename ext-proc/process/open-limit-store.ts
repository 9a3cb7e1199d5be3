import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { StoresConfig } from '#core/config/stores.ts';
import type { Postgres } from '#database/open.ts';
import type { ChargeMirror } from '../limits/charge-mirror.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import { MemoryLimitStore } from '../limits/memory/memory-limit-store.ts';
import { createMemoryReasoningStore, type ReasoningStoreOptions } from '../limits/reasoning/memory-reasoning-store.ts';
import type { ReasoningStore } from '../limits/reasoning/reasoning-store.ts';
import type { RedisLog } from '../limits/redis/connection.ts';
import { RedisRefused } from '../limits/redis/redis-errors.ts';
import type { RedisLimitStore } from '../limits/redis/redis-limit-store.ts';

export type OpenedLimitStore =
  | {
      readonly kind: 'open';
      readonly limits: LimitStore;
      /**
       * Time until any admissions open. It is above 0 while a store that lost its data waits for
       * holds to be registered again, or a former owner may still charge. Rejects with
       * StoreUnavailable.
       */
      readonly opensInMs: () => Promise<number>;
      readonly closedShards: () => number;
      /** Absent: no other process shares the limits. */
      readonly mirror?: ChargeMirror;
      /** Opens the reasoning store, which is kept where the limits are. */
      readonly keepReasoning: (options: ReasoningStoreOptions) => ReasoningStore;
      /** Called before the process ends, if nothing is held and nothing is left to charge. */
      readonly leave: () => Promise<void>;
    }
  /** The message is for the operator. A retry would be refused too. */
  | { readonly kind: 'refused'; readonly message: string };

export interface OpenLimitStoreOptions {
  readonly redis: StoresConfig['redis'];
  readonly database: Pick<Postgres, 'memoryModeLock' | 'sharedModeLock' | 'fences'>;
  readonly paths: Pick<RuntimePaths, 'chargeLogDir'>;
  readonly workerIndex: number;
  readonly leaseMs: number;
  readonly log: RedisLog;
  /** Called when another process keeps the limits. This one admits nothing and should end. */
  readonly onTakenOver: (reason: string) => void;
}

/** Opens the configured limit store. Rejects with StoreUnavailable. */
export async function openLimitStore(options: OpenLimitStoreOptions): Promise<OpenedLimitStore> {
  const { redis } = options;
  if (redis.kind === 'url') return openRedis(redis.url, options);
  return openMemory(options);
}

async function openMemory(options: OpenLimitStoreOptions): Promise<OpenedLimitStore> {
  const { database, log, onTakenOver } = options;
  const marksPath = join(options.paths.chargeLogDir, `memory-owner-${options.workerIndex}.json`);
  const lock = await database.memoryModeLock(marksPath, onTakenOver);
  if (lock.kind === 'refused') return lock;
  const { opensAtMs, leave } = lock;
  const opensInMs = () => Math.max(0, Math.ceil(opensAtMs - performance.now()));
  if (opensInMs() > 0) {
    log.warn(
      { ms: opensInMs() },
      'a process with another data folder kept the limits of this database and may still charge: nothing is admitted until it must have noticed',
    );
  }
  // Store and process end together, so no lease is needed to free the holds of a dead process. A
  // lease could expire because the wall clock jumped or the process stood still, and would then
  // free the hold of a live request.
  const limits = new MemoryLimitStore({ leaseMs: Number.POSITIVE_INFINITY, opensInMs });
  return {
    kind: 'open',
    limits,
    opensInMs: async () => opensInMs(),
    closedShards: () => 0,
    keepReasoning: createMemoryReasoningStore,
    leave,
  };
}

async function openRedis(url: string, options: OpenLimitStoreOptions): Promise<OpenedLimitStore> {
  const { database, onTakenOver } = options;
  const store = await connect(url, options);
  if ('kind' in store) return store;
  try {
    const lock = await database.sharedModeLock(store.lossDetection, onTakenOver);
    if (lock.kind === 'refused') {
      await store.close();
      return lock;
    }
    // Redis may not know yet what is held: the processes that are alive tell it within this time.
    await sleep(await store.lossDetection.opensInMs('all'));
    return {
      kind: 'open',
      limits: store,
      opensInMs: () => store.lossDetection.opensInMs(),
      closedShards: () => store.lossDetection.closedShards,
      mirror: store.chargeMirror,
      keepReasoning: (settings) => store.keepReasoning(settings),
      leave: async () => {},
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function connect(
  url: string,
  { database, leaseMs, log }: OpenLimitStoreOptions,
): Promise<RedisLimitStore | Exclude<OpenedLimitStore, { kind: 'open' }>> {
  // Loaded only when needed: the client of Redis takes 1.5 MB.
  const { createRedisLimitStore } = await import('../limits/redis/redis-limit-store.ts');
  try {
    return await createRedisLimitStore({ url, leaseMs, log, clock: 'server', fences: database.fences });
  } catch (error) {
    if (error instanceof RedisRefused) return { kind: 'refused', message: error.message };
    throw error;
  }
}
