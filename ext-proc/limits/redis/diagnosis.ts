import { compareClocks, type ServerClock } from '#core/net/server-clock.ts';
import { connectToAny } from './connection.ts';
import { asStoreError } from './redis-errors.ts';
import { parseRedisUrl } from './redis-url.ts';
import { refuseMissingRights } from './rights.ts';

/** State of a Redis that keeps limits. */
export interface RedisDiagnosis extends ServerClock {
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
  /** True if it writes its data to disk. */
  readonly persistent: boolean;
  /** True if the last write to disk failed. With some settings the server then refuses writes. */
  readonly persistenceFailed: boolean;
}

const QUIET = { info: () => {}, warn: () => {} };

/**
 * Reads a server, or one node of a cluster. Changes nothing. Rejects with StoreUnavailable, or
 * RedisRefused if the URL is invalid or its user lacks rights.
 */
export async function diagnoseRedis(url: string): Promise<RedisDiagnosis> {
  const redis = await connectToAny(parseRedisUrl(url), { url, log: QUIET });
  try {
    const info = infoOf(String(await redis.call('INFO')));
    await refuseMissingRights(redis);
    const isCluster = info('redis_mode') === 'cluster';
    const cluster = isCluster ? infoOf(String(await redis.call('CLUSTER', 'INFO')))('cluster_state') : undefined;
    return {
      version: info('redis_version') ?? 'unknown',
      mode: info('redis_mode') ?? 'standalone',
      role: info('role') ?? 'unknown',
      ...(cluster === undefined ? {} : { clusterState: cluster }),
      maxmemoryPolicy: info('maxmemory_policy') ?? 'noeviction',
      maxmemoryBytes: Number(info('maxmemory') ?? 0),
      usedMemoryBytes: Number(info('used_memory') ?? 0),
      clients: Number(info('connected_clients') ?? 0),
      maxClients: Number(info('maxclients') ?? 0),
      persistent: info('aof_enabled') === '1' || Number(info('rdb_last_bgsave_time_sec') ?? -1) >= 0,
      persistenceFailed: info('rdb_last_bgsave_status') === 'err' || info('aof_last_write_status') === 'err',
      ...(await compareClocks(async () => millisecondsOf(await redis.call('TIME')))),
    };
  } catch (error) {
    throw asStoreError(error);
  } finally {
    redis.disconnect();
  }
}

function infoOf(text: string): (field: string) => string | undefined {
  const fields = new Map(text.split(/\r?\n/).map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 1)]));
  return (field) => fields.get(field);
}

/** Unix milliseconds in the reply to `TIME`. */
function millisecondsOf(reply: unknown): number {
  const [seconds = 0, microseconds = 0] = Array.isArray(reply) ? reply.map(Number) : [];
  return seconds * 1000 + microseconds / 1000;
}
