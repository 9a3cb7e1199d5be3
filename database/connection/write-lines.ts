import pg from 'pg';
import { run, type Statement } from './connection-pool.ts';
import { isRefusedRow, isRollback } from './unavailable.ts';

/** Processes lock sums in the same order and cannot deadlock each other; an operator's session could. */
const MAX_TRIES = 3;

export interface LineWriting<Line> {
  /** Takes one parameter: the batch as `encode` writes it. */
  readonly statement: Statement;
  readonly encode: (batch: readonly Line[]) => string;
  /** `code`: PostgreSQL's. */
  readonly onRefused: (line: Line, code: string | undefined) => void;
}

/**
 * A batch is one statement, and one transaction. A row that PostgreSQL refuses is halved out, so that it is lost alone. Resolves to how many
 * were refused. Rejects while PostgreSQL is away, also halfway: what was written by then is recognised when the batch comes again.
 */
export async function writeLines<Line>(pool: pg.Pool, batch: readonly Line[], how: LineWriting<Line>): Promise<number> {
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
      return (await writeLines(pool, batch.slice(0, middle), how)) + (await writeLines(pool, batch.slice(middle), how));
    }
  }
}

/** Program limit exceeded, such as the size of an index entry. */
function isTooLarge(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code?.startsWith('54') === true;
}
