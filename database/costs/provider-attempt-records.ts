import { cleanText, type RecordColumns, recordWriter } from '../connection/record-text.ts';
import type { UnchargedAttemptRow } from './provider-attempts.ts';

/** The columns of `provider_attempt` (database/schema/tables.sql). */
export const ATTEMPT_COLUMNS: RecordColumns<UnchargedAttemptRow> = {
  generationId: ['generation_id', (a) => a.generationId],
  attempt: ['attempt', (a) => a.attempt],
  organizationId: ['organization_id', (a) => a.organizationId],
  keyId: ['key_id', (a) => a.keyId],
  model: ['model', (a) => cleanText(a.model)],
  provider: ['provider', (a) => cleanText(a.provider)],
  providerModel: ['provider_model', (a) => cleanText(a.providerModel)],
  upstreamId: ['upstream_id', (a) => cleanText(a.upstreamId)],
  askedAtMs: ['asked_ms', (a) => Math.round(a.askedAtMs)],
  result: ['result', (a) => a.result],
  reason: ['reason', (a) => a.reason],
  'tokens.source': ['token_source', (a) => a.tokens?.source],
  'tokens.usage.promptTokens': ['prompt_tokens', (a) => a.tokens?.usage.promptTokens],
  'tokens.usage.completionTokens': ['completion_tokens', (a) => a.tokens?.usage.completionTokens],
  'tokens.usage.cachedTokens': ['cached_tokens', (a) => a.tokens?.usage.cachedTokens],
  'tokens.usage.reasoningTokens': ['reasoning_tokens', (a) => a.tokens?.usage.reasoningTokens],
  'loss.reason': ['loss_reason', (a) => a.loss?.reason],
  'loss.amountNanoUsd': ['loss_nano_usd', (a) => a.loss?.amountNanoUsd],
  costNanoUsd: ['cost_nano_usd', (a) => a.costNanoUsd],
};

export const providerAttemptRecords = recordWriter(ATTEMPT_COLUMNS);
