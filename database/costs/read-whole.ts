import type pg from 'pg';
import { inTransaction, READ_WHOLE } from '../connection/connection-pool.ts';
import { PATIENCE_MS, readPatiently } from '../connection/patient-session.ts';

/** Runs a query in a snapshot, planned for whole tables. Rejects with StoreUnavailable. */
export async function readWhole<R extends object>(
  pool: pg.Pool,
  { text, values }: { readonly text: string; readonly values: unknown[] },
): Promise<R[]> {
  return inTransaction(pool, 'begin read only', async (client) => {
    await client.query(
      `set local statement_timeout = ${PATIENCE_MS}; set local plan_cache_mode = force_custom_plan; ${READ_WHOLE}`,
    );
    return readPatiently(client, text, values);
  });
}
