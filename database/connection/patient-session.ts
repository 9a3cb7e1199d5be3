import type pg from 'pg';
import { READ_WHOLE } from './connection-pool.ts';
import { asStoreError } from './unavailable.ts';

/** Limit of one statement. All reads are bounded, so only an overloaded machine takes this long. */
const PATIENCE_MS = 600_000;

/** Runs large bounded reads with a long timeout, on a connection that is closed afterwards. */
export interface PatientSession {
  read<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  /** Runs `work` in one snapshot of the database. */
  atOneMoment<T>(work: () => Promise<T>): Promise<T>;
}

export async function patiently<T>(pool: pg.Pool, work: (session: PatientSession) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw asStoreError(error);
  });
  const read = <R extends object>(text: string, values: unknown[] = []) => readPatiently<R>(client, text, values);
  try {
    await read(`set statement_timeout = ${PATIENCE_MS}`);
    // A generic plan would scan all partitions of the request log.
    await read(`set plan_cache_mode = force_custom_plan`);
    return await work({
      read,
      atOneMoment: async (inside) => {
        await read('begin isolation level repeatable read read only');
        const result = await inside();
        await read('commit');
        return result;
      },
    });
  } finally {
    client.release(true);
  }
}

/** Settings of a transaction for `readPatiently`. */
export const PATIENTLY = `set local statement_timeout = ${PATIENCE_MS}; set local plan_cache_mode = force_custom_plan; ${READ_WHOLE}`;

/** Raises pg's own timeout for one statement. PostgreSQL's timeout is set separately. */
export async function readPatiently<R extends object>(
  client: pg.PoolClient,
  text: string,
  values: unknown[],
): Promise<R[]> {
  // pg reads `query_timeout` from the statement, but its types do not have it.
  const statement = { text, values, query_timeout: PATIENCE_MS + 1_000 };
  try {
    return (await client.query<R>(statement)).rows;
  } catch (error) {
    throw asStoreError(error);
  }
}
