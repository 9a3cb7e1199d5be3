import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { run, type Statement, sql } from '../connection/connection-pool.ts';
import { type RecordColumns, recordWriter } from '../connection/record-text.ts';
import type { OmittedRequests, OmittedRequestsStore } from './request-log-store.ts';

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

/** Writes the counts of this process. Other processes have rows of their own. */
export function omittedRequestsStore(pool: pg.Pool): OmittedRequestsStore {
  const writer = randomUUID();
  return {
    async write(counts) {
      await run(pool, COUNT, [writer, omittedRecords(counts)]);
    },
  };
}

/** Statement that deletes some rows older than its parameter, in Unix milliseconds. */
export function deleteOmitted(rowsAtOnce: number): Statement {
  return sql('delete_omitted_requests')`
    delete from omitted_requests where ctid in (
      select ctid from omitted_requests where minute < floor($1::double precision / 60000) limit ${rowsAtOnce} for update skip locked
    ) returning 1`;
}
