import { compareClocks, type ServerClock } from '#core/net/server-clock.ts';
import { type VisitedMasters, visitMasters } from './masters.ts';
import { refuseMissingRights } from './rights.ts';

/** State of a Redis that keeps limits. */
export interface RedisDiagnosis extends ServerClock {
  readonly address: string;
  /** `7.0.15` */
  readonly version: string;
  /** `standalone`, `cluster`, `sentinel` */
  readonly mode: string;
  /** `master` or `slave` */
  readonly role: string;
  /** State of a cluster: `ok` or `fail`. */
  readonly clusterState?: string;
  readonly maxmemoryPolicy: string;
  /** 0: no limit. */
  readonly maxmemoryBytes: number;
  readonly usedMemoryBytes: number;
  readonly clients: number;
  readonly maxClients: number;
  readonly persistent: boolean;
  /** True if the last write to disk failed. With some settings the server then refuses writes. */
  readonly persistenceFailed: boolean;
}

/**
 * Reads a server, or the masters of a cluster. Changes nothing. Rejects with StoreUnavailable, or
 * RedisRefused if the URL is invalid. A user who lacks rights is a failed visit.
 */
export function diagnoseRedis(url: string): Promise<VisitedMasters<RedisDiagnosis>> {
  return visitMasters({ url }, async (redis, info, address) => {
    await refuseMissingRights(redis);
    const isCluster = info('redis_mode') === 'cluster';
    const state = isCluster ? /cluster_state:(\w+)/.exec(String(await redis.call('CLUSTER', 'INFO')))?.[1] : undefined;
    return {
      address,
      version: info('redis_version') ?? 'unknown',
      mode: info('redis_mode') ?? 'standalone',
      role: info('role') ?? 'unknown',
      ...(state === undefined ? {} : { clusterState: state }),
      maxmemoryPolicy: info('maxmemory_policy') ?? 'noeviction',
      maxmemoryBytes: Number(info('maxmemory') ?? 0),
      usedMemoryBytes: Number(info('used_memory') ?? 0),
      clients: Number(info('connected_clients') ?? 0),
      maxClients: Number(info('maxclients') ?? 0),
      persistent: info('aof_enabled') === '1' || Number(info('rdb_last_bgsave_time_sec') ?? -1) >= 0,
      persistenceFailed: info('rdb_last_bgsave_status') === 'err' || info('aof_last_write_status') === 'err',
      ...(await compareClocks(async () => millisecondsOf(await redis.call('TIME')))),
    };
  });
}

/** Unix milliseconds in the reply to `TIME`. */
function millisecondsOf(reply: unknown): number {
  const [seconds = 0, microseconds = 0] = Array.isArray(reply) ? reply.map(Number) : [];
  return seconds * 1000 + microseconds / 1000;
}
