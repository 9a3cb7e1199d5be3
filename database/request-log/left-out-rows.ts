import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { run, type Statement } from '../connection/connection-pool.ts';
import { type FieldValue, recordArrayText } from '../connection/record-text.ts';
import type { LeftOutRequests, LeftOutStore } from './request-log.ts';

const COUNT: Statement = { name: 'count_left_out', text: 'select count_left_out($1, $2::left_out_count[])' };

/** In the order of the columns of `left_out_count`. */
const COLUMNS: readonly ((counted: LeftOutRequests) => FieldValue)[] = [
  (c) => c.organizationId,
  (c) => c.minute,
  (c) => c.keyId,
  (c) => c.model,
  (c) => c.code,
  (c) => c.status,
  (c) => c.requests,
  (c) => c.lastAtMs,
  (c) => c.address,
];

/** Rows of this process alone: other processes that count the same have their own. */
export function leftOutRows(pool: pg.Pool): LeftOutStore {
  const writer = randomUUID();
  return {
    async write(counts) {
      await run(pool, COUNT, [writer, recordArrayText(counts, COLUMNS)]);
    },
  };
}

/** Statement that deletes some of what is older than its parameter, Unix milliseconds. */
export function deleteLeftOut(rowsAtOnce: number): Statement {
  return {
    name: 'delete_left_out_requests',
    text: `delete from left_out_requests where ctid in (
      select ctid from left_out_requests where minute < floor($1::double precision / 60000) limit ${rowsAtOnce} for update skip locked
    ) returning 1`,
  };
}
