import { DAY_MS, type UtcDay } from '#core/clock.ts';
import { readTextFile } from '#core/config/read-text-file.ts';

/** Token kinds of a bill. Cached tokens are included in the input tokens. */
export const KINDS = ['input_tokens', 'cached_tokens', 'output_tokens'] as const;
export type Kind = (typeof KINDS)[number];

/** A provider's token counts for one day and model. */
export interface BilledUsage extends Readonly<Record<Kind, number>> {
  readonly day: UtcDay;
  readonly model: string;
}

/** Usage in the order of the file, or one line for each problem. */
export type ProviderBill =
  | { readonly ok: true; readonly usage: readonly BilledUsage[] }
  | { readonly ok: false; readonly problems: readonly string[] };

export const BILL_HEADER = 'date,model,input_tokens,cached_tokens,output_tokens,cost';

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_LINES = 200_000;
const MAX_PROBLEMS = 20;
/** Bound of days in one query. */
const MAX_DAYS = 400;
const MAX_MODELS = 1000;

/** Reads a file of at most 16 MiB. */
export async function readProviderBill(path: string): Promise<ProviderBill> {
  const file = await readTextFile(path, MAX_BYTES);
  return file.ok ? parseProviderBill(file.text) : refuse(`${path} cannot be read: ${file.reason}.`);
}

/** Parses CSV as spreadsheets write it (quotes, CRLF). A line that does not fit is refused. */
export function parseProviderBill(text: string): ProviderBill {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  while (lines.at(-1) === '') lines.pop();
  const [header, ...rows] = lines;
  if (header !== BILL_HEADER) return refuse(`line 1: must be the header ${BILL_HEADER}.`);
  if (rows.length === 0) return refuse('There is nothing below the header.');
  if (rows.length > MAX_LINES) return refuse(`There are ${rows.length} lines below the header; ${MAX_LINES} are read.`);
  const usage: BilledUsage[] = [];
  const problems: string[] = [];
  for (const [index, row] of rows.entries()) {
    const read = readRow(row);
    if (typeof read !== 'string') usage.push(read);
    else if (problems.push(`line ${index + 2}: ${read}`) === MAX_PROBLEMS) break;
  }
  if (problems.length === 0) problems.push(...tooMuch(usage));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, usage };
}

const COUNT = /^\d{1,13}$/;
const MODEL = /^[\x21-\x7e]{1,256}$/;
const COST = /^(?:\d{1,12}(?:\.\d{1,12})?)?$/;

function readRow(row: string): BilledUsage | string {
  const fields = fieldsOf(row);
  if (fields === undefined) return 'a quote is not closed, or is inside a field.';
  if (fields.length !== 6) return `must have 6 fields, but has ${fields.length}.`;
  const [date = '', model = '', input = '', cached = '', output = '', cost = ''] = fields;
  const day = dayOf(date);
  if (day === undefined) return 'date must be a day of 2000 to 2099 in UTC, such as 2026-11-21.';
  if (!MODEL.test(model)) return "model must be the provider's name for it: 1 to 256 visible ASCII characters.";
  const wrong = KINDS.find((_, index) => !COUNT.test([input, cached, output][index] ?? ''));
  if (wrong !== undefined) return `${wrong} must be a whole number of at most 13 digits.`;
  if (!COST.test(cost)) return 'cost must be a decimal number such as 12.5, or empty.';
  const counts = { input_tokens: Number(input), cached_tokens: Number(cached), output_tokens: Number(output) };
  if (counts.cached_tokens > counts.input_tokens) return 'cached_tokens are part of input_tokens, and cannot be more.';
  return { day, model, ...counts };
}

const FIELD = /(?:"((?:[^"]|"")*)"|([^",]*))(?:,|$)/y;

function fieldsOf(row: string): readonly string[] | undefined {
  const fields: string[] = [];
  FIELD.lastIndex = 0;
  for (;;) {
    const match = FIELD.exec(row);
    if (match === null) return undefined;
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (!match[0].endsWith(',') || fields.length > 6) return fields;
  }
}

function dayOf(text: string): UtcDay | undefined {
  if (!/^20\d{2}-\d{2}-\d{2}$/.test(text)) return undefined;
  const day = Date.parse(text) / DAY_MS;
  // JavaScript parses February 30 as March 2.
  return Number.isInteger(day) && new Date(day * DAY_MS).toISOString().startsWith(text) ? day : undefined;
}

function tooMuch(usage: readonly BilledUsage[]): string[] {
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  const models = new Set<string>();
  let tokens = 0;
  for (const { day, model, input_tokens, output_tokens } of usage) {
    if (day < first) first = day;
    if (day > last) last = day;
    models.add(model);
    tokens += input_tokens + output_tokens;
  }
  const days = last - first + 1;
  if (days > MAX_DAYS) return [`The file goes over ${days} days; ${MAX_DAYS} are compared.`];
  if (models.size > MAX_MODELS) return [`The file has ${models.size} models; ${MAX_MODELS} are compared.`];
  return Number.isSafeInteger(tokens) ? [] : ['The tokens of all lines together are more than can be added exactly.'];
}

function refuse(problem: string): ProviderBill {
  return { ok: false, problems: [problem] };
}
