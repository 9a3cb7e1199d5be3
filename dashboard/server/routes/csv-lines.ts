import type { Columns } from './csv-tables.ts';

/** A file holds as many: spreadsheets take no more. */
const MOST_ROWS = 1_000_000;
const STEP_ROWS = 1_000;

export interface Step<Row, Cursor> {
  readonly rows: readonly Row[];
  /** Where the next step begins; absent: there is none. */
  readonly next?: Cursor;
}

/** The table in pieces of a step each, read one after the other as they are taken. A step may find nothing and still go on. */
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
 * What a spreadsheet would take for a formula, at the beginning of a text or behind what some take for the end of a cell: where commas are
 * decimal, Excel parts cells at semicolons, whatever is quoted.
 */
const FORMULA = /^(?=[\t\r\n])|(?<=(?:^|[;\t\r\n])"*)(?=[=+\-@＝＋－＠])/g;

/** RFC 4180. Formulas get an apostrophe before them: names, models and user agents are written by customers. */
export function csvLine(cells: readonly (string | number | boolean | undefined)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: string | number | boolean | undefined): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^-?\d+(\.\d+)?$/.test(value) ? value : value.replace(FORMULA, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
