import { readFileSync, writeFileSync } from 'node:fs';
import { CATALOGUE, type CatalogueEntry } from '../core/errors/catalogue.ts';

/** Writes the table of errors in README.md, between its markers, from the catalogue: `node scripts/error-table.ts`. */
const BEGIN = '<!-- errors:begin -->';
const END = '<!-- errors:end -->';

export function errorTable(): string {
  const rows = Object.entries<CatalogueEntry>(CATALOGUE).map(
    ([code, entry]) =>
      `| \`${code}\` | ${entry.status} | \`${entry.type}\` | ${retryAfter(entry)} | ${billed(entry)} | ${entry.message} | ${entry.advice} |`,
  );
  return [
    '| Code | HTTP | Type | `retry-after` | Billed | Message | What to do |',
    '|---|---|---|---|---|---|---|',
    ...rows.map((row) => row.replace(/\| \{problem\} \|/, '| (says what is wrong) |')),
  ].join('\n');
}

/** What stands between the markers of `readme` now. */
export function tableIn(readme: string): string {
  return readme.slice(placeIn(readme).start, placeIn(readme).end).trim();
}

export function withTable(readme: string): string {
  const { start, end } = placeIn(readme);
  return `${readme.slice(0, start)}\n${errorTable()}\n${readme.slice(end)}`;
}

function placeIn(readme: string): { readonly start: number; readonly end: number } {
  const start = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error(`README.md needs ${BEGIN} and, below it, ${END}`);
  return { start: start + BEGIN.length, end };
}

function retryAfter({ retryAfter: seconds }: CatalogueEntry): string {
  if (seconds === undefined) return '';
  return seconds === 'window' ? 'until the window ends' : `${seconds} s`;
}

function billed(entry: CatalogueEntry): string {
  return entry.billed === undefined ? 'no' : 'in a stream: what was delivered';
}

if (import.meta.main) {
  const file = new URL('../README.md', import.meta.url);
  writeFileSync(file, withTable(readFileSync(file, 'utf8')));
}
