import type { RequestLogEntry } from '../request-log.ts';
import { type ArrayValue, arrayText } from './array-text.ts';

const MAX_INTEGER = 2_147_483_647;

/** Measurements are for reading: whatever a clock did, they must not stand in the way of a line. */
function wholeMs(value: number | undefined): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined;
  return Math.min(MAX_INTEGER, Math.max(0, Math.round(value)));
}

/** Not for people to read, and some of them could change what a terminal or a spreadsheet shows; PostgreSQL has no place for NUL. */
const CONTROL = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu;
const MAY_NEED_CLEANING = /[^ -~]/;

function clean(text: string | undefined): string | undefined {
  return text === undefined || !MAY_NEED_CLEANING.test(text) ? text : text.replace(CONTROL, '');
}

/** In the order of write_request_log()'s parameters: the type PostgreSQL is told, and each entry's value. */
const COLUMNS: readonly (readonly [type: string, of: (entry: RequestLogEntry) => ArrayValue])[] = [
  ['text[]', (e) => e.id],
  ['bigint[]', (e) => e.arrivedAtMs],
  ['text[]', (e) => e.organizationId],
  ['text[]', (e) => e.keyId],
  ['text[]', (e) => clean(e.requestId)],
  ['text[]', (e) => e.generationId],
  ['text[]', (e) => e.route],
  ['text[]', (e) => clean(e.model)],
  ['boolean[]', (e) => e.modelKnown],
  ['text[]', (e) => e.provider],
  ['text[]', (e) => e.address],
  ['text[]', (e) => clean(e.userAgent)],
  ['smallint[]', (e) => e.status],
  ['text[]', (e) => e.code],
  ['boolean[]', (e) => e.streamed],
  ['boolean[]', (e) => e.replayed],
  ['boolean[]', (e) => e.clientGone],
  ['bigint[]', (e) => e.usage?.promptTokens],
  ['bigint[]', (e) => e.usage?.completionTokens],
  ['bigint[]', (e) => e.usage?.cachedTokens],
  ['bigint[]', (e) => e.usage?.reasoningTokens],
  ['bigint[]', (e) => e.costNanoUsd],
  ['integer[]', (e) => wholeMs(e.firstEventMs)],
  ['integer[]', (e) => wholeMs(e.durationMs)],
];

/** `$1::text[], $2::bigint[], …` */
export const REQUEST_LOG_PARAMETERS = COLUMNS.map(([type], index) => `$${index + 1}::${type}`).join(', ');

export function requestLogColumns(batch: readonly RequestLogEntry[]): string[] {
  return COLUMNS.map(([type, of]) => arrayText(type, batch, of));
}
