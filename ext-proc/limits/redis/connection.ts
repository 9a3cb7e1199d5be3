import { Cluster, type Redis } from 'ioredis';
import type { RedisAddress } from '#core/config/redis-url.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { within } from '#core/within.ts';
import { redisAddress, type ServerInfo, visitMasters } from './masters.ts';
import { CONNECT_MS, connectToAny, type NodeOptions, nodeOptions, retryAfterMs } from './node-connection.ts';
import { asStoreError, RedisRefused, unavailable } from './redis-errors.ts';
import { SHARD_KEYS } from './redis-keys.ts';
import { refuseMissingRights } from './rights.ts';
import { callsOver, type ScriptCalls } from './script-calls.ts';

/** The part of the process's logger that stores need; pino fits. */
export interface RedisLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ConnectionOptions extends NodeOptions {
  readonly url: string;
  readonly log: RedisLog;
}

/** Connects to Redis. Rejects: StoreUnavailable, or RedisRefused if it must not keep limits. */
export async function connectRedis(options: ConnectionOptions): Promise<ScriptCalls> {
  const address = redisAddress(options.url);
  const { isCluster, failed } = await visitMasters(options, async (redis, info) => {
    refuseEviction(info);
    await refuseMissingRights(redis);
  });
  const refused = failed.find((error) => error instanceof RedisRefused) ?? (isCluster ? undefined : failed[0]);
  if (refused !== undefined) throw refused;
  if (isCluster || address.nodes.length > 1) return callsOver(await connectToCluster(address, options), true);
  const node = await connectToAny(address, options);
  try {
    const oneSlot = await requiresOneSlot(node);
    return callsOver(node, oneSlot, logOutages(node, options.log));
  } catch (error) {
    node.disconnect();
    throw asStoreError(error);
  }
}

/**
 * Refuses a server that evicts keys: it could evict holds without their sum, and money would be
 * spent twice. A server that does not report its policy is accepted. The shards of one that could
 * not be visited stay closed (fence-shards-n.lua).
 */
function refuseEviction(info: ServerInfo): void {
  const policy = evictsBy(info);
  if (policy === '') return;
  throw new RedisRefused(
    `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), and would forget what is held. Set maxmemory-policy to noeviction.`,
  );
}

/** maxmemory-policy by which a server may evict keys, '' if it may not. */
function evictsBy(info: ServerInfo): string {
  const policy = info('maxmemory_policy') ?? 'noeviction';
  return (info('maxmemory') ?? '0') === '0' || policy === 'noeviction' ? '' : policy;
}

/** Addresses and policies of the masters that may evict keys. */
export async function evictingMasters(options: ConnectionOptions): Promise<string[]> {
  const { found } = await visitMasters(options, async (_, info, name) => ({ name, policy: evictsBy(info) }));
  return found.flatMap(({ name, policy }) => (policy === '' ? [] : [`${name} ${policy}`]));
}

/** Detects a proxy that looks like one server and refuses calls with keys of two slots. */
async function requiresOneSlot(redis: Redis): Promise<boolean> {
  const [one, other] = SHARD_KEYS;
  try {
    await redis.call('EVAL', 'return 0', 2, `${one}`, `${other}`);
    return false;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('CROSSSLOT')) return true;
    throw error;
  }
}

/** ioredis can wait without end for a node that accepts connections and does not answer. */
const CLUSTER_CONNECT_MS = 3 * CONNECT_MS;

async function connectToCluster(address: RedisAddress, options: ConnectionOptions): Promise<Cluster> {
  const cluster = new Cluster([...address.nodes], {
    redisOptions: nodeOptions(address, options),
    enableOfflineQueue: false,
    lazyConnect: true,
    clusterRetryStrategy: retryAfterMs,
    slotsRefreshTimeout: CONNECT_MS,
    // A call to a moved slot follows the redirection, at most two of them while slots move, and
    // does not wait for a fail-over. The client counts every error, NOSCRIPT too, so the bound is
    // 4.
    maxRedirections: 4,
    retryDelayOnFailover: 100,
    retryDelayOnClusterDown: 100,
    retryDelayOnTryAgain: 50,
    // Leaves host names unresolved: certificates name hosts, and ioredis would connect by address.
    ...(address.tls ? { dnsLookup: (host, found) => found(null, host) } : {}),
  });
  // Closed shards are logged (loss-detection.ts): this client does not notice that a node is away.
  cluster.on('error', () => {});
  try {
    if (await within(cluster.connect(), CLUSTER_CONNECT_MS)) return cluster;
    throw new StoreUnavailable('Redis: a node of the cluster does not answer');
  } catch (error) {
    cluster.disconnect();
    throw asStoreError(error);
  }
}

/**
 * Logs one line when Redis becomes unavailable and one when it is back, not one per attempt.
 * Returns why the last attempt to connect failed.
 */
function logOutages(client: Redis, log: RedisLog): () => StoreUnavailable {
  let isAway = false;
  const closed = new Error('the connection was closed');
  let reason = closed;
  client.on('error', (error: Error) => {
    reason = error;
  });
  client.on('close', () => {
    if (!isAway) log.warn({ reason: reason.message }, 'Redis is unavailable');
    isAway = true;
  });
  client.on('ready', () => {
    if (isAway) log.info({}, 'Redis is back');
    isAway = false;
    reason = closed;
  });
  return () => unavailable(reason);
}
