import { setImmediate } from 'node:timers/promises';
import { type Columns, csvLine } from './csv.ts';

/** Spreadsheets accept no more rows. */
const MOST_ROWS = 1_000_000;
/** A row of the ledger or of costs has at most some 2,000 characters, so a step has 2 MB. */
const STEP_ROWS = 1_000;
/** Length of text after which other work of the process is done. */
const PIECE_LENGTH = 64 * 1024;

export interface Step<Row, Cursor> {
  readonly rows: readonly Row[];
  /** Start of the next step. Absent after the last one. */
  readonly next?: Cursor;
}

type ReadStep<Row, Cursor> = (cursor: Cursor | undefined, limit: number) => Promise<Step<Row, Cursor>>;

interface Bounds {
  readonly mostRows?: number;
  /** Fewer for longer rows: a slow reader may keep the text of a step in memory for minutes. */
  readonly stepRows?: number;
}

/** The table as CSV text, in pieces. A step may return no rows and still have a next one. */
export async function* csvLines<Row, Cursor>(
  columns: Columns<Row>,
  read: ReadStep<Row, Cursor>,
  { mostRows = MOST_ROWS, stepRows = STEP_ROWS }: Bounds = {},
): AsyncGenerator<string> {
  yield csvLine(columns.map(([name]) => name));
  let left = mostRows;
  let cursor: Cursor | undefined;
  do {
    const { pieces, length, next } = await textOf(columns, read(cursor, Math.min(stepRows, left)));
    for (const piece of pieces) {
      yield piece;
      await setImmediate();
    }
    left -= length;
    cursor = next;
  } while (cursor !== undefined && left > 0);
}

/** All text of a step, so that no rows are in memory while a piece waits for its reader. */
async function textOf<Row, Cursor>(columns: Columns<Row>, step: Promise<Step<Row, Cursor>>) {
  const { rows, next } = await step;
  const pieces: string[] = [];
  let piece = '';
  for (const row of rows) {
    piece += csvLine(columns.map(([, cell]) => cell(row)));
    if (piece.length < PIECE_LENGTH) continue;
    pieces.push(piece);
    piece = '';
    await setImmediate();
  }
  return { pieces: [...pieces, piece], length: rows.length, next };
}
