import pg from 'pg';
import type { RequestLogEntry, RequestLogStore } from '../request-log.ts';
import { createPool, run, type Statement, type StoreLog, type Timeouts } from './connection-pool.ts';
import { keepLogPartitions } from './request-log-partitions.ts';
import { requestLogRecords } from './request-log-records.ts';
import { isRefusedRow, isRollback } from './unavailable.ts';

/** A batch takes tens of milliseconds. Nobody waits for it, so that a machine under load may take its time. */
const TIMEOUTS: Timeouts = { connectMs: 2_000, statementMs: 10_000 };

const WRITE: Statement = { name: 'log_requests', text: 'select log_requests($1::logged_request[])' };

/** Processes lock sums in the same order and cannot deadlock each other; an operator's session could. */
const MAX_TRIES = 3;

/** On a connection of its own, so that neither lookups nor charges ever wait for a line of the log. */
export function openRequestLog(url: string, log: StoreLog, timeouts = TIMEOUTS): RequestLogStore {
  const pool = createPool(url, 1, timeouts, log, { synchronousCommit: 'off' });
  let stopTidying: (() => void) | undefined;
  return {
    write: async (batch) => ({ refused: await write(pool, batch, log) }),
    keepTidy: (retentionMs) => {
      stopTidying?.();
      stopTidying = keepLogPartitions(pool, retentionMs, log);
    },
    close: () => {
      stopTidying?.();
      return pool.end();
    },
  };
}

/**
 * A batch is one statement, and one transaction. A row that PostgreSQL refuses is halved out, so that it is lost alone. Resolves to how many
 * were refused. Rejects while PostgreSQL is away, also halfway: what was written by then is recognised when the batch comes again.
 */
async function write(pool: pg.Pool, batch: readonly RequestLogEntry[], log: StoreLog): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      await run(pool, WRITE, [requestLogRecords(batch)]);
      return 0;
    } catch (error) {
      if (isRollback(error) && tries < MAX_TRIES) continue;
      if (!isRefusedRow(error) && !isTooLarge(error)) throw error;
      const [only] = batch;
      if (batch.length === 1 && only) {
        const { code } = error as pg.DatabaseError;
        log.error({ code, request_id: only.requestId }, 'PostgreSQL refused a line of the request log');
        return 1;
      }
      const middle = Math.ceil(batch.length / 2);
      return (await write(pool, batch.slice(0, middle), log)) + (await write(pool, batch.slice(middle), log));
    }
  }
}

/** Program limit exceeded, such as the size of an index entry. */
function isTooLarge(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code?.startsWith('54') === true;
}
