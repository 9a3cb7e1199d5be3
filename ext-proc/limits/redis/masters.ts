import type { Redis } from 'ioredis';
import { parseRedisUrl, type RedisAddress, type RedisNode } from '#core/config/redis-url.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { connectToAny, type NodeOptions } from './node-connection.ts';
import { asStoreError, RedisRefused } from './redis-errors.ts';

/** Reads a field of `INFO`. */
export type ServerInfo = (field: string) => string | undefined;

/** Results of a visit to the masters, without those that failed. */
export interface VisitedMasters<Found> {
  readonly isCluster: boolean;
  readonly found: readonly Found[];
  /** Errors of a cluster begin with the address of the master. */
  readonly failed: readonly (StoreUnavailable | RedisRefused)[];
}

type Visit<Found> = (redis: Redis, info: ServerInfo, address: string) => Promise<Found>;

/** The configuration has checked the URL. */
export function redisAddress(url: string): RedisAddress {
  const address = parseRedisUrl(url);
  if (address === undefined) throw new RedisRefused('the Redis URL is not valid');
  return address;
}

/** Visits the server, or each master of its cluster. Rejects if no named node is usable. */
export async function visitMasters<Found>(
  { url, ...options }: NodeOptions & { readonly url: string },
  visit: Visit<Found>,
): Promise<VisitedMasters<Found>> {
  const address = redisAddress(url);
  const found: Found[] = [];
  const failed: (StoreUnavailable | RedisRefused)[] = [];
  const first = await connectToAny(address, options);
  const visitOne = async (master?: RedisNode) => {
    try {
      const redis = master === undefined ? first : await connectToAny({ ...address, nodes: [master] }, options);
      try {
        found.push(await visit(redis, await infoOf(redis), `${redis.options.host}:${redis.options.port}`));
      } finally {
        redis.disconnect();
      }
    } catch (error) {
      failed.push(failedVisit(master, asStoreError(error)));
    }
  };
  try {
    const isCluster = (await infoOf(first))('redis_mode') === 'cluster';
    const masters = isCluster ? mastersIn(await first.call('CLUSTER', 'SLOTS'), first.options.host) : [];
    // A cluster without slots has no masters yet.
    await Promise.all(masters.length === 0 ? [visitOne()] : masters.map(visitOne));
    return { isCluster, found, failed };
  } catch (error) {
    throw asStoreError(error);
  } finally {
    first.disconnect();
  }
}

/** Throws errors that are bugs. */
function failedVisit(master: RedisNode | undefined, error: unknown): StoreUnavailable | RedisRefused {
  if (!(error instanceof RedisRefused || error instanceof StoreUnavailable)) throw error;
  if (master === undefined) return error;
  const message = `${master.host}:${master.port}: ${error.message}`;
  return error instanceof RedisRefused ? new RedisRefused(message) : new StoreUnavailable(message);
}

/**
 * Masters in a reply to `CLUSTER SLOTS`: lists of first slot, last slot, master, replicas. A node
 * that does not know its own address replies with none.
 */
function mastersIn(slots: unknown, asked = ''): RedisNode[] {
  const nodes = (slots as [number, number, [host: string | null, port: number]][]).map(([, , [host, port]]) => ({
    host: host || asked,
    port,
  }));
  return [...new Map(nodes.map((node) => [`${node.host}:${node.port}`, node])).values()];
}

async function infoOf(redis: Redis): Promise<ServerInfo> {
  const lines = String(await redis.call('INFO')).split(/\r?\n/);
  const fields = new Map(lines.map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 1)]));
  return (field) => fields.get(field);
}
