import { cleanText, type RecordColumns, recordWriter } from '../connection/record-text.ts';
import type { RequestLogRow } from './request-log-row.ts';

const MAX_INTEGER = 2_147_483_647;

/** Rounds and clamps a measurement, so that a wrong clock cannot prevent a row. */
function wholeMs(value: number | undefined): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined;
  return Math.min(MAX_INTEGER, Math.max(0, Math.round(value)));
}

/** The columns of `logged_request` (database/schema/tables.sql). */
export const LOGGED_COLUMNS: RecordColumns<RequestLogRow> = {
  id: ['id', (row) => row.id],
  arrivedAtMs: ['arrived_ms', (row) => row.arrivedAtMs],
  organizationId: ['organization_id', (row) => row.organizationId],
  keyId: ['key_id', (row) => row.keyId],
  requestId: ['request_id', (row) => cleanText(row.requestId)],
  generationId: ['generation_id', (row) => row.generationId],
  route: ['route', (row) => row.route],
  model: ['model', (row) => cleanText(row.model)],
  modelKnown: ['model_known', (row) => row.modelKnown],
  provider: ['provider', (row) => row.provider],
  address: ['address', (row) => row.address],
  userAgent: ['user_agent', (row) => cleanText(row.userAgent)],
  status: ['status', (row) => row.status],
  code: ['code', (row) => row.code],
  streamed: ['streamed', (row) => row.streamed],
  replayed: ['replayed', (row) => row.replayed],
  clientGone: ['client_gone', (row) => row.clientGone],
  'usage.promptTokens': ['prompt_tokens', (row) => row.usage?.promptTokens],
  'usage.completionTokens': ['completion_tokens', (row) => row.usage?.completionTokens],
  'usage.cachedTokens': ['cached_tokens', (row) => row.usage?.cachedTokens],
  'usage.reasoningTokens': ['reasoning_tokens', (row) => row.usage?.reasoningTokens],
  costNanoUsd: ['cost_nano_usd', (row) => row.costNanoUsd],
  providerCostNanoUsd: ['provider_cost_nano_usd', (row) => row.providerCostNanoUsd],
  firstEventMs: ['first_event_ms', (row) => wholeMs(row.firstEventMs)],
  durationMs: ['duration_ms', (row) => wholeMs(row.durationMs)],
  user: ['end_user', (row) => row.user?.replaceAll('\0', '\ufffd')],
  metadata: ['metadata', (row) => row.metadata],
};

/** Encodes rows as `logged_request[]`. */
export const requestLogRecords = recordWriter(LOGGED_COLUMNS);
