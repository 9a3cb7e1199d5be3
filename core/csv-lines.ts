import { setImmediate } from 'node:timers/promises';
import { type Columns, csvLine } from './csv.ts';

/** Spreadsheets take no more rows. */
const MOST_ROWS = 1_000_000;
const STEP_ROWS = 1_000;
/**
 * Text that is made before other work of the process gets its turn. A thousand rows of the longest
 * texts that customers choose are 2 MB.
 */
const PIECE_LENGTH = 64 * 1024;

export interface Step<Row, Cursor> {
  readonly rows: readonly Row[];
  /** Start of the next step. Absent after the last one. */
  readonly next?: Cursor;
}

/**
 * The table as CSV text, in pieces. A step may return no rows and still have a next one.
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
    yield* piecesOf(columns, rows);
    left -= rows.length;
    cursor = next;
  } while (cursor !== undefined && left > 0);
}

async function* piecesOf<Row>(columns: Columns<Row>, rows: readonly Row[]): AsyncGenerator<string> {
  let piece = '';
  for (const row of rows) {
    piece += csvLine(columns.map(([, cell]) => cell(row)));
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
    await setImmediate();
  }
  yield piece;
}
