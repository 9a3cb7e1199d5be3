import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { StoreLog } from './connection/connection-pool.ts';
import { isForbidden } from './connection/unavailable.ts';
import { SchemaMismatch } from './schema/migrate.ts';

const EVERY_MS = 3_000;

/**
 * Opens a store, retrying until it is usable: the process may start before the stores run, before
 * there is a schema, or before its user has rights. Logs every few seconds what it waits for.
 * Errors that waiting cannot fix are thrown.
 */
export async function untilUsable<Opened>(
  open: () => Promise<Opened>,
  log: StoreLog,
  everyMs = EVERY_MS,
): Promise<Opened> {
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const reason = reasonToWait(error);
      if (reason === undefined) throw error;
      log.warn({ reason }, 'waiting for the stores');
      await sleep(everyMs);
    }
  }
}

function reasonToWait(error: unknown): string | undefined {
  if (error instanceof SchemaMismatch) return error.message;
  if (error instanceof StoreUnavailable) {
    const why = error.cause instanceof Error && error.cause.message !== '' ? `: ${error.cause.message}` : '';
    return `${error.message}${why}`;
  }
  // Migrations wrap the error of their statement.
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (!isForbidden(cause)) return undefined;
  return `${cause.message}: \`gateway migrate\`, as the owner of the tables, gives the rights`;
}
