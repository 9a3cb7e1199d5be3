import { present } from '#core/present.ts';
import type { LossReason } from '#database/costs/losses.ts';
import type { UnchargedAttemptRow, UnchargedReason } from '#database/costs/provider-attempts.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { UnchargedAttempt } from '../hold/attempt.ts';
import type { Intent } from './charge-log/intent.ts';
import { attemptDueNanoUsd, providerCostNanoUsd } from './settlement-of.ts';

/**
 * The reason for each result of an attempt on which a provider worked
 * (delivery/provider/provider-failure.ts). Any other result means that the response broke off or
 * was invalid.
 */
const REASONS: Readonly<Record<string, UnchargedReason>> = {
  first_byte_timeout: 'timeout',
  total_timeout: 'timeout',
  envoy_timeout: 'timeout',
  stall: 'timeout',
  too_large: 'response_too_large',
  no_room: 'no_room',
  process_ends: 'process_ends',
  abandoned: 'client_left',
  ok: 'not_charged',
  crash: 'crash',
};

/** Losses by result: our own bounds withheld the response from the customer. */
const LOSSES: Readonly<Record<string, LossReason>> = {
  total_timeout: 'timeout',
  too_large: 'response_too_large',
  no_room: 'no_room',
};

/** Describes the attempt of a delivered response whose charge was refused. */
export function unchargedSettlement(settlement: Settlement): UnchargedAttemptRow {
  const { generationId, organizationId, keyId, model, provider, upstreamId, usage } = settlement;
  return {
    ...{ generationId, organizationId, keyId, model, provider },
    // A settlement does not have the number of its attempt.
    attempt: 0,
    providerModel: settlement.providerModel,
    askedAtMs: settlement.createdAtMs,
    result: 'ok',
    reason: 'not_charged',
    tokens: { usage, source: settlement.usageCounted ? 'counted' : 'reported' },
    ...present({ upstreamId, costNanoUsd: settlement.providerCostNanoUsd }),
  };
}

/** Describes an uncharged attempt with its loss: the price, at most the hold. */
export function providerAttempt(
  terms: Intent,
  attempt: UnchargedAttempt,
  lossReason = LOSSES[attempt.result],
): UnchargedAttemptRow {
  const { work, costTable, sentTier, tokens, ...facts } = attempt;
  const dueForTokens = tokens && attemptDueNanoUsd(terms, sentTier, tokens);
  const costNanoUsd = providerCostNanoUsd(attempt, tokens);
  return {
    ...facts,
    generationId: terms.generationId,
    organizationId: terms.organizationId,
    keyId: terms.keyId,
    model: terms.model,
    result: attempt.result === 'abandoned' ? 'client_left' : attempt.result,
    reason:
      work === 'none' ? 'not_sent' : work === 'refused' ? 'provider_error' : (REASONS[attempt.result] ?? 'broken'),
    ...present({ tokens: tokens && { usage: tokens.usage, source: tokens.source }, costNanoUsd }),
    ...(lossReason === undefined || dueForTokens === undefined
      ? {}
      : { loss: { reason: lossReason, amountNanoUsd: dueForTokens } }),
  };
}
