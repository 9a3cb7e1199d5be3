import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import { present } from '#core/present.ts';
import { backOffMs } from '#core/retry/back-off.ts';
import { asStoreError, RedisRefused } from './redis-errors.ts';
import { allShardKeys } from './redis-keys.ts';
import { parseRedisUrl, type RedisAddress, type RedisTlsFiles } from './redis-url.ts';
import { refuseMissingRights } from './rights.ts';
import { CLOSE_MS, callsOver, type ScriptCalls } from './script-calls.ts';

/** The part of the process's logger that stores need; pino fits. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ConnectionOptions {
  readonly url: string;
  readonly log: StoreLog;
  /** Redis is unavailable after this long without a reply. Only tests set it, for busy machines. */
  readonly replyMs?: number;
}

/** Redis replies to a script in far less than 1 ms. After this long the connection is closed. */
const REPLY_MS = 1_000;
const CONNECT_MS = 2_000;
const RECONNECT = { firstMs: 50, longestMs: 1_000, jitter: 0.25 };

/** Connects to Redis. Rejects: StoreUnavailable, or RedisRefused if it must not keep limits. */
export async function connectRedis(options: ConnectionOptions): Promise<ScriptCalls> {
  const address = parseRedisUrl(options.url);
  const node = await connectToAny(address, options);
  try {
    const info = String(await node.call('INFO'));
    refuseEviction(info);
    await refuseMissingRights(node);
    if (address.nodes.length === 1 && !/^redis_mode:cluster\r?$/m.test(info)) {
      return callsOver(node, await requiresOneSlot(node));
    }
  } catch (error) {
    node.disconnect();
    throw asStoreError(error);
  }
  node.disconnect();
  return callsOver(await connectToCluster(address, options), true);
}

/**
 * Refuses a server that evicts keys: it could evict holds without their sum, and money would be
 * spent twice. A server that does not report its policy is accepted.
 */
function refuseEviction(info: string): void {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
  const limit = /^maxmemory:(\d+)/m.exec(info)?.[1] ?? '0';
  if (limit !== '0' && policy !== 'noeviction') {
    throw new RedisRefused(
      `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), and would forget what is held. Set maxmemory-policy to noeviction.`,
    );
  }
}

/** Detects a proxy that looks like one server and refuses calls with keys of two slots. */
async function requiresOneSlot(redis: Redis): Promise<boolean> {
  const [one, other] = allShardKeys();
  try {
    await redis.call('EVAL', 'return 0', 2, `${one}`, `${other}`);
    return false;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('CROSSSLOT')) return true;
    throw error;
  }
}

/** Connects to the first node that can be reached. */
export async function connectToAny(address: RedisAddress, options: ConnectionOptions): Promise<Redis> {
  const shared = nodeOptions(address, options);
  let problem: unknown;
  for (const { host, port } of address.nodes) {
    const redis = new Redis({
      ...shared,
      // One address may lead to several servers, which TLS distinguishes by name.
      ...(shared.tls && isIP(host) === 0 ? { tls: { ...shared.tls, servername: host } } : {}),
      host,
      port,
      db: address.database,
      lazyConnect: true,
      // Without a connection a call fails at once.
      enableOfflineQueue: false,
      retryStrategy: retryAfterMs,
    });
    // `connect()` hides the cause; the `error` event has it.
    let reason: unknown;
    redis.on('error', (error) => {
      reason = error;
    });
    try {
      await redis.connect();
      logOutages(redis, options.log);
      return redis;
    } catch (error) {
      redis.disconnect();
      problem = reason ?? error;
    }
  }
  throw asStoreError(problem);
}

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
    await cluster.connect();
    return cluster;
  } catch (error) {
    cluster.disconnect();
    throw asStoreError(error);
  }
}

function nodeOptions({ username, password, tls }: RedisAddress, { replyMs = REPLY_MS }: ConnectionOptions) {
  return {
    ...present({ username, password, tls: tls && readTlsFiles(tls) }),
    connectionName: 'inference-gateway',
    protocol: 2 as const,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: CLOSE_MS,
    commandTimeout: replyMs,
    socketTimeout: replyMs,
    // A command without a reply is not sent again: it may have been executed.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // The master became a replica. If there is a new master, the address leads to it now.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
}

/** Reads the files once. A server's certificate may be renewed by the same authority. */
function readTlsFiles({ authority, client }: RedisTlsFiles): { ca?: string; cert?: string; key?: string } {
  return {
    ...(authority === undefined ? {} : { ca: readPem(authority) }),
    ...(client === undefined ? {} : { cert: readPem(client.certificate), key: readPem(client.privateKey) }),
  };
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new RedisRefused(`a file that the Redis URL names cannot be read: ${(error as Error).message}`);
  }
}

function retryAfterMs(times: number): number {
  return backOffMs(times, RECONNECT);
}

/** Logs one line when Redis becomes unavailable and one when it is back, not one per attempt. */
function logOutages(client: Redis, log: StoreLog): void {
  let unavailable = false;
  let reason = 'the connection was closed';
  client.on('error', (error: Error) => {
    reason = error.message;
  });
  client.on('close', () => {
    if (!unavailable) log.warn({ reason }, 'Redis is unavailable');
    unavailable = true;
  });
  client.on('ready', () => {
    if (unavailable) log.info({}, 'Redis is back');
    unavailable = false;
  });
}
