import { connectToAny } from './connection.ts';
import { asStoreError } from './redis-errors.ts';
import { parseRedisUrl } from './redis-url.ts';
import { refuseMissingRights } from './rights.ts';

/** State of a Redis that keeps limits. */
export interface RedisDiagnosis {
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
  /** Median of several calls. */
  readonly latencyMs: number;
  readonly clockAheadMs: number;
  readonly clockUncertaintyMs: number;
}

const PINGS = 5;
const QUIET = { info: () => {}, warn: () => {} };

/**
 * Reads one node of a cluster. Changes nothing. Rejects with StoreUnavailable, or RedisRefused if
 * the URL is invalid or its user lacks rights.
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
      ...(await clockOf(() => redis.call('TIME'))),
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

type Clock = Pick<RedisDiagnosis, 'latencyMs' | 'clockAheadMs' | 'clockUncertaintyMs'>;

async function clockOf(readTime: () => Promise<unknown>): Promise<Clock> {
  const pings: { tookMs: number; aheadMs: number }[] = [];
  for (let i = 0; i < PINGS; i++) {
    const startedMs = performance.now();
    const before = Date.now();
    const reply = await readTime();
    const tookMs = performance.now() - startedMs;
    const [seconds, microseconds] = Array.isArray(reply) ? reply.map(Number) : [];
    pings.push({ tookMs, aheadMs: (seconds ?? 0) * 1000 + (microseconds ?? 0) / 1000 - before - tookMs / 2 });
  }
  pings.sort((a, b) => a.tookMs - b.tookMs);
  const [fastest] = pings;
  return {
    latencyMs: pings[Math.floor(PINGS / 2)]?.tookMs ?? 0,
    clockAheadMs: fastest?.aheadMs ?? 0,
    clockUncertaintyMs: (fastest?.tookMs ?? 0) / 2,
  };
}
