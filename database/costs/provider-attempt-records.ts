import { cleanText, type FieldValue, recordArrayText } from '../connection/record-text.ts';
import type { ProviderAttempt } from './provider-attempts.ts';

/** In the order of the columns of `provider_attempt` (0017_provider_attempts.sql). */
const COLUMNS: readonly ((attempt: ProviderAttempt) => FieldValue)[] = [
  (a) => a.generationId,
  (a) => a.attempt,
  (a) => a.organizationId,
  (a) => a.keyId,
  (a) => cleanText(a.model),
  (a) => cleanText(a.provider),
  (a) => cleanText(a.providerModel),
  (a) => cleanText(a.upstreamId),
  (a) => Math.round(a.askedAtMs),
  (a) => a.result,
  (a) => a.reason,
  (a) => a.tokens?.source,
  (a) => a.tokens?.usage.promptTokens,
  (a) => a.tokens?.usage.completionTokens,
  (a) => a.tokens?.usage.cachedTokens,
  (a) => a.tokens?.usage.reasoningTokens,
  (a) => a.loss?.reason,
  (a) => a.loss?.amountNanoUsd,
];

/** A `provider_attempt[]`. */
export function providerAttemptRecords(batch: readonly ProviderAttempt[]): string {
  return recordArrayText(batch, COLUMNS);
}
