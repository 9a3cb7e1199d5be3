import type pg from 'pg';
import { inTransaction, READ_WHOLE } from '../connection/connection-pool.ts';
import { asStoreError } from '../connection/unavailable.ts';

/** Timeout of a report over months of a large ledger. */
const TIMEOUT_MS = 600_000;

/** Reads one snapshot, planned for whole tables. Rejects with StoreUnavailable. */
export async function readWhole<R extends object>(
  pool: pg.Pool,
  { text, values }: { readonly text: string; readonly values: unknown[] },
): Promise<R[]> {
  return inTransaction(pool, 'begin read only', async (client) => {
    await client.query(
      `set local statement_timeout = ${TIMEOUT_MS}; set local plan_cache_mode = force_custom_plan; ${READ_WHOLE}`,
    );
    // Replaces the connection's timeout, which is meant for requests. `query_timeout` is read by
    // pg, but missing from its types.
    const statement = { text, values, query_timeout: TIMEOUT_MS + 1_000 };
    try {
      return (await client.query<R>(statement)).rows;
    } catch (error) {
      throw asStoreError(error);
    }
  });
}
