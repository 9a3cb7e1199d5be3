import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { run, type Statement, sql } from '../connection/connection-pool.ts';
import { type RecordColumns, recordWriter } from '../connection/record-text.ts';
import type { OmittedRequests } from './request-log-row.ts';

const COUNT = sql('count_omitted')`select count_omitted($1, $2::omitted_count[])`;

/** The columns of `omitted_count` (database/schema/tables.sql). */
export const OMITTED_COLUMNS: RecordColumns<OmittedRequests> = {
  organizationId: ['organization_id', (c) => c.organizationId],
  minute: ['minute', (c) => c.minute],
  keyId: ['key_id', (c) => c.keyId],
  model: ['model', (c) => c.model],
  code: ['code', (c) => c.code],
  status: ['status', (c) => c.status],
  requests: ['requests', (c) => c.requests],
  lastAtMs: ['last_ms', (c) => c.lastAtMs],
  address: ['address', (c) => c.address],
};
const omittedRecords = recordWriter(OMITTED_COLUMNS);

/** Counts of refused requests that have no row (ext-proc/requests/log/refused-quota.ts). */
export type WriteOmitted = ReturnType<typeof omittedRequestsWriter>;

/**
 * Returns a function that replaces the stored counts of this process, which only increase. Other
 * processes have rows of their own. It rejects if the result is unknown.
 */
export function omittedRequestsWriter(pool: pg.Pool) {
  const writer = randomUUID();
  return async (counts: readonly OmittedRequests[]): Promise<void> => {
    await run(pool, COUNT, [writer, omittedRecords(counts)]);
  };
}

/** Statement that deletes some rows older than its parameter, in Unix milliseconds. */
export function deleteOmitted(rowsAtOnce: number): Statement {
  return sql('delete_omitted_requests')`
    delete from omitted_requests where ctid in (
      select ctid from omitted_requests where minute < floor($1::double precision / 60000) limit ${rowsAtOnce} for update skip locked
    ) returning 1`;
}
