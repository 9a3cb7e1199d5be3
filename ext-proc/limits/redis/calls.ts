import { Cluster, type Redis } from 'ioredis';
import { SCRIPTS, type ScriptName } from './scripts.ts';
import { asStoreError, isNoScript } from './unavailable.ts';

export interface RedisCalls {
  /** Keys of one call have to be of one hash slot. */
  readonly oneSlot: boolean;
  /** Runs one script. Rejects with StoreUnavailable, soon, while Redis is away. */
  run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Connects again, to the present target of the address. */
  reconnect(): void;
  close(): Promise<void>;
}

export const CLOSE_MS = 500;

/**
 * Calls of the same moment, as renewals of many organizations are, leave in one write. The nodes of
 * a cluster have connections of their own.
 */
function writeTogether(client: Redis | Cluster): void {
  if (client instanceof Cluster) return;
  const { stream } = client;
  // There is none before the first connection.
  if (stream === undefined || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

export function callsOver(client: Redis | Cluster, oneSlot: boolean): RedisCalls {
  async function run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const script = SCRIPTS[name];
    writeTogether(client);
    try {
      return await client.call('EVALSHA', script.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw asStoreError(error);
    }
    try {
      return await client.call('EVAL', script.source, keys.length, ...keys, ...args);
    } catch (error) {
      throw asStoreError(error);
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
