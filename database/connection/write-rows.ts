import pg from 'pg';
import { run, type Statement } from './connection-pool.ts';
import { isRefusedRow, isRollback } from './unavailable.ts';

/**
 * Processes lock sums in the same order and cannot deadlock each other; an operator's session
 * could.
 */
const MAX_TRIES = 3;

export interface RowWriting<Row> {
  /** Statement with one parameter, the text of `encode`. */
  readonly statement: Statement;
  readonly encode: (batch: readonly Row[]) => string;
  /** `code`: PostgreSQL's. */
  readonly onRefused: (row: Row, code: string | undefined) => void;
}

/**
 * Writes a batch in one statement and one transaction. A row that PostgreSQL refuses is separated
 * by halving, so that it is lost alone. Resolves to the number of refused rows. Rejects while
 * PostgreSQL is unavailable, also halfway: rows that were written by then are recognised in the
 * repeated batch.
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

/** Program limit exceeded, such as the size of an index entry. */
function isTooLarge(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code?.startsWith('54') === true;
}
