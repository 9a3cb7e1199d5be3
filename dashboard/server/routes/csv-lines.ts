import type { Columns } from './csv-tables.ts';

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

/**
 * Positions at which a spreadsheet may begin a formula: the start of a text, and behind a character
 * that some programs take for the end of a cell. Where commas are decimal, Excel splits cells at
 * semicolons, even inside quotes.
 */
const FORMULA = /^(?=[\t\r\n])|(?<=(?:^|[;\t\r\n])"*)(?=[=+\-@＝＋－＠])/g;

/**
 * One line of RFC 4180. Formulas are prefixed with an apostrophe: customers choose names, models
 * and user agents.
 */
export function csvLine(cells: readonly (string | number | boolean | undefined)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: string | number | boolean | undefined): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^-?\d+(\.\d+)?$/.test(value) ? value : value.replace(FORMULA, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
