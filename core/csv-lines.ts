import { type Columns, csvLine } from './csv.ts';

/** Spreadsheets take no more rows. */
const MOST_ROWS = 1_000_000;
const STEP_ROWS = 1_000;

export interface Step<Row, Cursor> {
  readonly rows: readonly Row[];
  /** Start of the next step. Absent after the last one. */
  readonly next?: Cursor;
}

/**
 * The table as CSV text, in one piece for each step. A step may return no rows and still have a
 * next one.
 */
export async function* csvLines<Row, Cursor>(
  columns: Columns<Row>,
  read: (cursor: Cursor | undefined, limit: number) => Promise<Step<Row, Cursor>>,
  mostRows: number = MOST_ROWS,
): AsyncGenerator<string> {
  yield csvLine(columns.map(([name]) => name));
  let left = mostRows;
  let cursor: Cursor | undefined;
  do {
    const { rows, next } = await read(cursor, Math.min(STEP_ROWS, left));
    yield rows.map((row) => csvLine(columns.map(([, cell]) => cell(row)))).join('');
    left -= rows.length;
    cursor = next;
  } while (cursor !== undefined && left > 0);
}
