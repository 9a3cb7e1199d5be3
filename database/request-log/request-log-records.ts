import { cleanText, type FieldValue, recordArrayText } from '../connection/record-text.ts';
import type { RequestLogEntry } from './request-log.ts';

const MAX_INTEGER = 2_147_483_647;

/** Measurements are for reading: whatever a clock did, they must not stand in the way of a line. */
function wholeMs(value: number | undefined): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined;
  return Math.min(MAX_INTEGER, Math.max(0, Math.round(value)));
}

/** In the order of the columns of `logged_request` (0015_cheaper_log_lines.sql). */
const COLUMNS: readonly ((entry: RequestLogEntry) => FieldValue)[] = [
  (e) => e.id,
  (e) => e.arrivedAtMs,
  (e) => e.organizationId,
  (e) => e.keyId,
  (e) => cleanText(e.requestId),
  (e) => e.generationId,
  (e) => e.route,
  (e) => cleanText(e.model),
  (e) => e.modelKnown,
  (e) => e.provider,
  (e) => e.address,
  (e) => cleanText(e.userAgent),
  (e) => e.status,
  (e) => e.code,
  (e) => e.streamed,
  (e) => e.replayed,
  (e) => e.clientGone,
  (e) => e.usage?.promptTokens,
  (e) => e.usage?.completionTokens,
  (e) => e.usage?.cachedTokens,
  (e) => e.usage?.reasoningTokens,
  (e) => e.costNanoUsd,
  (e) => wholeMs(e.firstEventMs),
  (e) => wholeMs(e.durationMs),
];

/** A `logged_request[]`. */
export function requestLogRecords(batch: readonly RequestLogEntry[]): string {
  return recordArrayText(batch, COLUMNS);
}
