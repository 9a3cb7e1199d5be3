import type { Redis } from 'ioredis';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { connectToAny, type NodeOptions } from './node-connection.ts';
import { asStoreError, RedisRefused } from './redis-errors.ts';
import { parseRedisUrl } from './redis-url.ts';

/** Reads a field of `INFO`. */
export type ServerInfo = (field: string) => string | undefined;

/** Results of a visit to the masters, without those that failed. */
export interface VisitedMasters<Found> {
  readonly isCluster: boolean;
  readonly found: readonly Found[];
  /** Errors of a cluster begin with the address of the master. */
  readonly failed: readonly (StoreUnavailable | RedisRefused)[];
}

export type Visit<Found> = (redis: Redis, info: ServerInfo, address: string) => Promise<Found>;

/** Visits the server, or each master of its cluster. Rejects if no named node is usable. */
export async function visitMasters<Found>(
  { url, ...options }: NodeOptions & { readonly url: string },
  visit: Visit<Found>,
): Promise<VisitedMasters<Found>> {
  const address = parseRedisUrl(url);
  const found: Found[] = [];
  const failed: (StoreUnavailable | RedisRefused)[] = [];
  const first = await connectToAny(address, options);
  const visitOne = async (name: string, connect: () => Promise<Redis>) => {
    try {
      const redis = await connect();
      try {
        found.push(await visit(redis, await infoOf(redis), `${redis.options.host}:${redis.options.port}`));
      } finally {
        redis.disconnect();
      }
    } catch (error) {
      failed.push(withName(name, asStoreError(error)));
    }
  };
  try {
    const isCluster = (await infoOf(first))('redis_mode') === 'cluster';
    const masters = isCluster ? mastersIn(await first.call('CLUSTER', 'SLOTS'), first.options.host) : [];
    // A cluster without slots has no masters yet.
    if (masters.length === 0) await visitOne('', async () => first);
    else {
      const visits = masters.map((node) =>
        visitOne(`${node.host}:${node.port}: `, () => connectToAny({ ...address, nodes: [node] }, options)),
      );
      await Promise.all(visits);
    }
    return { isCluster, found, failed };
  } catch (error) {
    throw asStoreError(error);
  } finally {
    first.disconnect();
  }
}

/** Throws errors that are bugs. */
function withName(name: string, error: unknown): StoreUnavailable | RedisRefused {
  if (error instanceof RedisRefused) return new RedisRefused(name + error.message);
  if (error instanceof StoreUnavailable) return new StoreUnavailable(name + error.message);
  throw error;
}

/**
 * Masters in a reply to `CLUSTER SLOTS`: lists of first slot, last slot, master, replicas. A node
 * that does not know its own address replies with none.
 */
function mastersIn(slots: unknown, asked = ''): { host: string; port: number }[] {
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
