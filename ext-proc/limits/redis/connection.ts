import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import { backOffMs } from '../../../core/retry/back-off.ts';
import { CLOSE_MS, callsOver, type RedisCalls } from './calls.ts';
import { parseRedisUrl, type RedisAddress, type RedisTlsFiles } from './redis-url.ts';
import { RedisRefused } from './refused.ts';
import { refuseMissingRights } from './rights.ts';
import { allShardKeys } from './shards.ts';
import { asStoreError } from './unavailable.ts';

/** The part of the process's logger that stores need; pino fits. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ConnectionOptions {
  readonly url: string;
  readonly log: StoreLog;
  /**
   * Silence of Redis for this long is an outage. More only where a test is about something else,
   * and its machine busy.
   */
  readonly answerMs?: number;
}

/**
 * Redis answers a script in far less than a millisecond; when it has been silent for this long the
 * connection is given up.
 */
const ANSWER_MS = 1_000;
const CONNECT_MS = 2_000;
const RECONNECT = { firstMs: 50, longestMs: 1_000, jitter: 0.25 };

/**
 * Connects, and finds out whether it is a cluster. Rejects with StoreUnavailable, or says why this
 * Redis must not keep limits.
 */
export async function connectRedis(options: ConnectionOptions): Promise<RedisCalls> {
  const address = parseRedisUrl(options.url);
  const node = await connectToAny(address, options);
  try {
    const info = String(await node.call('INFO'));
    refuseEviction(info);
    await refuseMissingRights(node);
    if (address.nodes.length === 1 && !/^redis_mode:cluster\r?$/m.test(info)) {
      return callsOver(node, await insistsOnOneSlot(node));
    }
  } catch (error) {
    node.disconnect();
    throw asStoreError(error);
  }
  node.disconnect();
  return callsOver(await connectToCluster(address, options), true);
}

/**
 * Eviction takes single keys: holds without their sum, or a sum without its holds, and then money
 * is spent twice. Where the server does not say, it is taken to be right.
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

/**
 * A proxy in front of several servers may look like one server, and take no call for keys of two
 * slots.
 */
async function insistsOnOneSlot(redis: Redis): Promise<boolean> {
  const [one, other] = allShardKeys();
  try {
    await redis.call('EVAL', 'return 0', 2, `${one}`, `${other}`);
    return false;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('CROSSSLOT')) return true;
    throw error;
  }
}

/** The first of its nodes that answers. */
export async function connectToAny(address: RedisAddress, options: ConnectionOptions): Promise<Redis> {
  const shared = nodeOptions(address, options);
  let problem: unknown;
  for (const { host, port } of address.nodes) {
    const redis = new Redis({
      ...shared,
      // Behind one address there may be several servers, distinguished by name.
      ...(shared.tls && isIP(host) === 0 ? { tls: { ...shared.tls, servername: host } } : {}),
      host,
      port,
      db: address.database,
      lazyConnect: true,
      // While the connection is away a call fails at once.
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
      tellOf(redis, options.log);
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
    // A call that a node no longer serves is tried where the cluster says, twice while slots move;
    // longer nobody waits for a fail-over. The client counts every error, also that the node it
    // came to does not know the script yet, which it mends by sending it.
    maxRedirections: 4,
    retryDelayOnFailover: 100,
    retryDelayOnClusterDown: 100,
    retryDelayOnTryAgain: 50,
    // Certificates are for names, and nodes announce themselves by address.
    ...(address.tls ? { dnsLookup: (host, found) => found(null, host) } : {}),
  });
  tellOf(cluster, options.log);
  try {
    await cluster.connect();
    return cluster;
  } catch (error) {
    cluster.disconnect();
    throw asStoreError(error);
  }
}

function nodeOptions(address: RedisAddress, { answerMs = ANSWER_MS }: ConnectionOptions) {
  return {
    ...(address.username === undefined ? {} : { username: address.username }),
    ...(address.password === undefined ? {} : { password: address.password }),
    ...(address.tls === undefined ? {} : { tls: readTlsFiles(address.tls) }),
    connectionName: 'inference-gateway',
    protocol: 2 as const,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: CLOSE_MS,
    commandTimeout: answerMs,
    socketTimeout: answerMs,
    // A command without a reply is not sent again: it may have been executed.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A master that became a replica: the address leads to the new one, if to any.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
}

/**
 * Read when a process starts: a certificate that is renewed under the same authority needs nothing
 * here.
 */
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

/** One line when Redis goes and one when it comes back, not one for each attempt. */
function tellOf(client: Redis | Cluster, log: StoreLog): void {
  let away = false;
  let reason = 'the connection was closed';
  client.on('error', (error: Error) => {
    reason = error.message;
  });
  client.on('close', () => {
    if (!away) log.warn({ reason }, 'Redis is away');
    away = true;
  });
  client.on('ready', () => {
    if (away) log.info({}, 'Redis is back');
    away = false;
  });
}
