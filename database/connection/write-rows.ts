import pg from 'pg';
import { run, type Statement } from './connection-pool.ts';
import { isRefusedRow, isRollback } from './unavailable.ts';

/** All processes lock sums in one order, so only an operator's session could cause a deadlock. */
const MAX_TRIES = 3;

export interface RowWriting<Row> {
  /** Statement with one parameter, the result of `encode`. */
  readonly statement: Statement;
  readonly encode: (batch: readonly Row[]) => string;
  /** `code`: PostgreSQL's error code. */
  readonly onRefused: (row: Row, code: string | undefined) => void;
}

/**
 * Writes a batch in one statement and transaction. If PostgreSQL refuses a row, the batch is halved
 * until that row is alone and lost. Resolves with the number of refused rows. Rejects while
 * PostgreSQL is unavailable, even halfway: rows that were already written are recognized when the
 * batch is repeated.
 */
export async function writeRows<Row>(pool: pg.Pool, batch: readonly Row[], how: RowWriting<Row>): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      await run(pool, how.statement, [how.encode(batch)]);
      return 0;
    } catch (error) {
      if (isRollback(error) && tries < MAX_TRIES) continue;
      if (!isRefusedRow(error) && !isTooLarge(error)) throw error;
      const [only] = batch;
      if (batch.length === 1 && only) {
        how.onRefused(only, (error as pg.DatabaseError).code);
        return 1;
      }
      const middle = Math.ceil(batch.length / 2);
      return (await writeRows(pool, batch.slice(0, middle), how)) + (await writeRows(pool, batch.slice(middle), how));
    }
  }
}

/** True for an exceeded limit of PostgreSQL, such as the size of an index entry. */
function isTooLarge(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code?.startsWith('54') === true;
}
