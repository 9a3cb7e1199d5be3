import { createPool, type StoreLog, sql, type Timeouts } from '../connection/connection-pool.ts';
import { writeRows } from '../connection/write-rows.ts';
import { providerAttemptRecords } from '../costs/provider-attempt-records.ts';
import type { ProviderAttemptStore, UnchargedAttemptRow } from '../costs/provider-attempts.ts';
import { omittedRequestsStore } from './omitted-requests-store.ts';
import { requestLogRecords } from './request-log-columns.ts';
import { keepLogPartitions } from './request-log-partitions.ts';
import type { OmittedRequestsStore, RequestLogRow, RequestLogStore } from './request-log-store.ts';

/** Generous timeouts. A batch takes tens of milliseconds, and no request waits for it. */
const TIMEOUTS: Timeouts = { connectMs: 2_000, statementMs: 10_000 };

const WRITE = sql('log_requests')`select log_requests($1::logged_request[])`;
const WRITE_ATTEMPTS = sql('record_provider_attempts')`select record_provider_attempts($1::provider_attempt[])`;

/** The request log, with uncharged attempts and omitted requests, which are kept equally long. */
export interface OpenRequestLog extends RequestLogStore {
  readonly attempts: ProviderAttemptStore;
  readonly omitted: OmittedRequestsStore;
}

/** Opens a connection of its own, so that lookups and charges never wait for a row of the log. */
export function openRequestLog(url: string, log: StoreLog, timeouts = TIMEOUTS): OpenRequestLog {
  const pool = createPool(url, 1, timeouts, log, { synchronousCommit: 'off' });
  let stopTidying: (() => void) | undefined;
  return {
    write: async (batch) => {
      const onRefused = ({ requestId }: RequestLogRow, code?: string) =>
        log.error({ code, request_id: requestId }, 'PostgreSQL refused a row of the request log');
      return { refused: await writeRows(pool, batch, { statement: WRITE, encode: requestLogRecords, onRefused }) };
    },
    attempts: {
      write: async (batch) => {
        const onRefused = ({ generationId }: UnchargedAttemptRow, code?: string) =>
          log.error({ code, generation_id: generationId }, 'PostgreSQL refused an attempt at a provider');
        const how = { statement: WRITE_ATTEMPTS, encode: providerAttemptRecords, onRefused };
        return { refused: await writeRows(pool, batch, how) };
      },
    },
    omitted: omittedRequestsStore(pool),
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
