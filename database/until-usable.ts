import { setTimeout as sleep } from 'node:timers/promises';
import { refuseToStart } from '#core/process-end.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { StoreLog } from './connection/connection-pool.ts';
import { TransactionPooler } from './connection/transaction-pooler.ts';
import { missingRight } from './connection/unavailable.ts';
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

/**
 * Ends a process whose stores cannot be opened. Unless the configuration is wrong, the supervisor
 * restarts it, because a store or migration may be late. Errors that waiting cannot fix are thrown.
 */
export function explainUnavailable(error: unknown): never {
  if (error instanceof TransactionPooler) refuseToStart(error.message);
  const reason = reasonToWait(error);
  if (reason === undefined) throw error;
  const advice = 'Start it, or correct stores in the configuration (DATABASE_URL and REDIS_URL override it).';
  const isAway = error instanceof StoreUnavailable && !missingRight(error);
  process.stderr.write(isAway ? `A store does not answer: ${reason}. ${advice}\n` : `${reason}\n`);
  process.exit(1);
}

function reasonToWait(error: unknown): string | undefined {
  if (error instanceof SchemaMismatch) return error.message;
  const forbidden = missingRight(error);
  if (forbidden) return `${forbidden.message}: \`gateway migrate\`, as the owner of the tables, gives the rights`;
  if (error instanceof StoreUnavailable) {
    const why = error.cause instanceof Error && error.cause.message !== '' ? `: ${error.cause.message}` : '';
    return `${error.message}${why}`;
  }
  return undefined;
}
