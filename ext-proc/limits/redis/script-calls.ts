import { Cluster, type Redis } from 'ioredis';
import type { StoreUnavailable } from '#core/store-unavailable.ts';
import { asStoreError, isNoScript } from './redis-errors.ts';
import { SCRIPTS, type ScriptName } from './scripts.ts';

export interface ScriptCalls {
  /** True if all keys of one call must be in one hash slot, as a cluster requires. */
  readonly oneSlot: boolean;
  /** Runs one script. Rejects with StoreUnavailable, at once while Redis is unavailable. */
  run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Connects again, to the server that the address leads to now. */
  reconnect(): void;
  close(): Promise<void>;
}

export const CLOSE_MS = 500;

/**
 * Joins the calls that are made in a row, such as renewals of many organizations, into one write.
 * Nodes of a cluster have connections of their own.
 */
function writeTogether(client: Redis | Cluster): void {
  if (client instanceof Cluster) return;
  const { stream } = client;
  // Undefined before the first connection.
  if (stream === undefined || stream.writableCorked > 0) return;
  stream.cork();
  queueMicrotask(() => stream.uncork());
}

/** `whyAway` has the cause, for a call of a client that is not connected. */
export function callsOver(client: Redis | Cluster, oneSlot: boolean, whyAway?: () => StoreUnavailable): ScriptCalls {
  const storeError = (error: unknown): unknown =>
    (client.status === 'ready' ? undefined : whyAway?.()) ?? asStoreError(error);

  async function run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const script = SCRIPTS[name];
    writeTogether(client);
    try {
      return await client.call('EVALSHA', script.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw storeError(error);
    }
    try {
      return await client.call('EVAL', script.source, keys.length, ...keys, ...args);
    } catch (error) {
      throw storeError(error);
    }
  }
  return {
    oneSlot,
    run,
    reconnect: () => client.disconnect(true),
    async close() {
      client.removeAllListeners('close');
      await Promise.race([
        client.quit().catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, CLOSE_MS)),
      ]);
      client.disconnect();
    },
  };
}
