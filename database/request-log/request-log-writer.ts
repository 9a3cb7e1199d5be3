import { createPool, type StoreLog, sql, type Timeouts } from '../connection/connection-pool.ts';
import { writeRows } from '../connection/write-rows.ts';
import { providerAttemptRecords } from '../costs/provider-attempt-records.ts';
import type { UnchargedAttemptRow } from '../costs/provider-attempts.ts';
import { omittedRequestsWriter } from './omitted-requests.ts';
import { requestLogRecords } from './request-log-columns.ts';
import { keepLogPartitions } from './request-log-partitions.ts';
import type { RequestLogRow } from './request-log-row.ts';

/** Generous timeouts. A batch takes tens of milliseconds, and no request waits for it. */
const TIMEOUTS: Timeouts = { connectMs: 2_000, statementMs: 10_000 };

const WRITE = sql('log_requests')`select log_requests($1::logged_request[])`;
const WRITE_ATTEMPTS = sql('record_provider_attempts')`select record_provider_attempts($1::provider_attempt[])`;

export type OpenRequestLog = ReturnType<typeof openRequestLog>;

/**
 * Opens the request log, with uncharged attempts and omitted requests, which are kept equally long.
 * It is for people: no charge depends on it, and rows may be lost (database/schema/tables.sql). It
 * has a connection of its own, so that lookups and charges never wait for a row of the log.
 */
export function openRequestLog(url: string, log: StoreLog, timeouts = TIMEOUTS) {
  const pool = createPool(url, 1, timeouts, log, { synchronousCommit: 'off' });
  let stopTidying: (() => void) | undefined;
  return {
    /**
     * Writes a batch with its sums, each row once, so repeating a batch changes nothing. Resolves
     * with the number of rows that PostgreSQL permanently refuses. Rejects if the result is
     * unknown, or if nothing could be written now. Then the same batch is to be written again.
     */
    write(batch: readonly RequestLogRow[]): Promise<number> {
      const onRefused = ({ requestId }: RequestLogRow, code?: string) =>
        log.error({ code, request_id: requestId }, 'PostgreSQL refused a row of the request log');
      return writeRows(pool, batch, { statement: WRITE, encode: requestLogRecords, onRefused });
    },
    /** Writes each attempt (generation, number) once, otherwise like `write`. */
    writeAttempts(batch: readonly UnchargedAttemptRow[]): Promise<number> {
      const onRefused = ({ generationId }: UnchargedAttemptRow, code?: string) =>
        log.error({ code, generation_id: generationId }, 'PostgreSQL refused an attempt at a provider');
      return writeRows(pool, batch, { statement: WRITE_ATTEMPTS, encode: providerAttemptRecords, onRefused });
    },
    writeOmitted: omittedRequestsWriter(pool),
    /** Creates partitions ahead and drops old ones, until `close`. */
    keepTidy(retentionMs: () => number): void {
      stopTidying?.();
      stopTidying = keepLogPartitions(pool, retentionMs, log);
    },
    close(): Promise<void> {
      stopTidying?.();
      return pool.end();
    },
  };
}
