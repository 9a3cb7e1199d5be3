import { ERROR_CODES, type ErrorEntry } from '#core/errors/error-codes.ts';

/** docs/errors.md has the table of error codes between these. `npm run generate` writes it. */
const BEGIN = '<!-- errors:begin -->';
const END = '<!-- errors:end -->';

export function errorTable(): string {
  const rows = Object.entries<ErrorEntry>(ERROR_CODES).map(
    ([code, entry]) =>
      `| \`${code}\` | ${entry.status} | \`${entry.type}\` | ${retryAfter(entry)} | ${billed(entry)} | ${entry.advice} |`,
  );
  return ['| Code | HTTP | Type | `retry-after` | Billed | What to do |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

/** The text between the markers of `page`. */
export function tableIn(page: string): string {
  return page.slice(placeIn(page).start, placeIn(page).end).trim();
}

export function withTable(page: string): string {
  const { start, end } = placeIn(page);
  return `${page.slice(0, start)}\n${errorTable()}\n${page.slice(end)}`;
}

function placeIn(page: string): { readonly start: number; readonly end: number } {
  const start = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (start < 0 || end < start) throw new Error(`docs/errors.md needs ${BEGIN} and, below it, ${END}`);
  return { start: start + BEGIN.length, end };
}

function retryAfter({ retryAfter: seconds }: ErrorEntry): string {
  if (seconds === undefined) return '';
  return seconds === 'window' ? 'until the window ends' : `${seconds} s`;
}

function billed(entry: ErrorEntry): string {
  return entry.billed === undefined ? 'no' : 'in a stream: what was delivered';
}
