import { formatUsd, type NanoUsd } from './money.ts';

type Cell = string | number | boolean | undefined;

/** Columns of a CSV file: the name for the header line, and the value for a row. */
export type Columns<Row> = readonly Column<Row>[];
export type Column<Row> = readonly [name: string, cell: (row: Row) => Cell];

/** Times are ISO 8601 in UTC. */
export function csvTime(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
}

/** Amounts are exact USD. */
export function csvUsd(nanoUsd: NanoUsd | string | undefined): string | undefined {
  return nanoUsd === undefined ? undefined : formatUsd(BigInt(nanoUsd));
}

/**
 * Matches where a spreadsheet may begin a formula: at the start of a text, and after a character
 * that some programs treat as the end of a cell. In locales with decimal commas, Excel splits cells
 * at semicolons, even inside quotes. The match includes the quotes: a look-behind over them would
 * take a time that grows with the square of their number.
 */
const BEFORE_FORMULA = /(?:^|[;\t\r\n])"*(?=[=+\-@＝＋－＠])/g;

/** One line of RFC 4180. Formulas, which customers may write, are prefixed with an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: Cell): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^-?\d+(\.\d+)?$/.test(value) ? value : defused(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function defused(text: string): string {
  const formulasDefused = text.replace(BEFORE_FORMULA, "$&'");
  return /^[\t\r\n]/.test(text) ? `'${formulasDefused}` : formulasDefused;
}
