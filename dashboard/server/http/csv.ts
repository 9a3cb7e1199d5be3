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
