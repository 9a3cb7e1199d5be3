import { cleanText, type RecordColumns, recordWriter } from '../connection/record-text.ts';
import type { RequestLogRow } from './request-log-store.ts';

const MAX_INTEGER = 2_147_483_647;

/** Measurements are for people: a value that a wrong clock made must not prevent a row. */
function wholeMs(value: number | undefined): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined;
  return Math.min(MAX_INTEGER, Math.max(0, Math.round(value)));
}

/** The columns of `logged_request` (0015_cheaper_log_lines.sql). */
export const LOGGED_COLUMNS: RecordColumns<RequestLogRow> = {
  id: ['id', (e) => e.id],
  arrivedAtMs: ['arrived_ms', (e) => e.arrivedAtMs],
  organizationId: ['organization_id', (e) => e.organizationId],
  keyId: ['key_id', (e) => e.keyId],
  requestId: ['request_id', (e) => cleanText(e.requestId)],
  generationId: ['generation_id', (e) => e.generationId],
  route: ['route', (e) => e.route],
  model: ['model', (e) => cleanText(e.model)],
  modelKnown: ['model_known', (e) => e.modelKnown],
  provider: ['provider', (e) => e.provider],
  address: ['address', (e) => e.address],
  userAgent: ['user_agent', (e) => cleanText(e.userAgent)],
  status: ['status', (e) => e.status],
  code: ['code', (e) => e.code],
  streamed: ['streamed', (e) => e.streamed],
  replayed: ['replayed', (e) => e.replayed],
  clientGone: ['client_gone', (e) => e.clientGone],
  'usage.promptTokens': ['prompt_tokens', (e) => e.usage?.promptTokens],
  'usage.completionTokens': ['completion_tokens', (e) => e.usage?.completionTokens],
  'usage.cachedTokens': ['cached_tokens', (e) => e.usage?.cachedTokens],
  'usage.reasoningTokens': ['reasoning_tokens', (e) => e.usage?.reasoningTokens],
  costNanoUsd: ['cost_nano_usd', (e) => e.costNanoUsd],
  firstEventMs: ['first_event_ms', (e) => wholeMs(e.firstEventMs)],
  durationMs: ['duration_ms', (e) => wholeMs(e.durationMs)],
};

/** A `logged_request[]`. */
export const requestLogRecords = recordWriter(LOGGED_COLUMNS);
