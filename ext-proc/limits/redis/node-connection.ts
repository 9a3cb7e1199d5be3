import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls';
import { Redis } from 'ioredis';
import type { RedisAddress, RedisTlsFiles } from '#core/config/redis-url.ts';
import { present } from '#core/present.ts';
import { backOffMs } from '#core/retry/back-off.ts';
import { asStoreError, RedisRefused, unavailable } from './redis-errors.ts';
import { CLOSE_MS } from './script-calls.ts';

export interface NodeOptions {
  /** Redis is unavailable after this long without a reply. Only tests set it, for busy machines. */
  readonly replyMs?: number;
}

/** Redis replies to a script in far less than 1 ms. After this long the connection is closed. */
const REPLY_MS = 1_000;
export const CONNECT_MS = 2_000;
const RECONNECT = { firstMs: 50, longestMs: 1_000, jitter: 0.25 };

/** Connects to the first node that can be reached. */
export async function connectToAny(address: RedisAddress, options: NodeOptions): Promise<Redis> {
  let problem = new Error('the connection was closed');
  for (const { host, port } of address.nodes) {
    const redis = new Redis({
      // One address may lead to several servers, which TLS distinguishes by name.
      ...nodeOptions(address, options, isIP(host) === 0 ? host : undefined),
      host,
      port,
      db: address.database,
      lazyConnect: true,
      // Without a connection a call fails at once.
      enableOfflineQueue: false,
      retryStrategy: retryAfterMs,
    });
    // `connect()` hides the cause; the `error` event has it.
    let reason: Error | undefined;
    redis.on('error', (error: Error) => {
      reason = error;
    });
    try {
      await redis.connect();
      return redis;
    } catch (error) {
      redis.disconnect();
      problem = reason ?? (error as Error);
    }
  }
  throw unavailable(problem);
}

export function nodeOptions(
  { username, password, tls }: RedisAddress,
  { replyMs = REPLY_MS }: NodeOptions,
  servername?: string,
) {
  return {
    ...present({ username, password, tls: tls && tlsOptions(tls, servername) }),
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

/** ioredis takes `secureContext` for each connection. Throws RedisRefused or StoreUnavailable. */
function tlsOptions(files: RedisTlsFiles, servername?: string): ConnectionOptions {
  let context = readTlsFiles(files);
  return {
    ...present({ servername }),
    // Certificates of the start expire while the process runs. Half-renewed files must not throw
    // here, which would end the client.
    get secureContext() {
      try {
        context = readTlsFiles(files);
      } catch {
        // The former ones remain.
      }
      return context;
    },
  };
}

function readTlsFiles({ authority, client }: RedisTlsFiles): SecureContext {
  try {
    return createSecureContext({
      ...(authority === undefined ? {} : { ca: readPem(authority) }),
      ...(client === undefined ? {} : { cert: readPem(client.certificate), key: readPem(client.privateKey) }),
    });
  } catch (error) {
    throw asStoreError(error);
  }
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new RedisRefused(`a file that the Redis URL names cannot be read: ${(error as Error).message}`);
  }
}

export function retryAfterMs(times: number): number {
  return backOffMs(times, RECONNECT);
}
