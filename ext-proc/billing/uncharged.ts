import { chargeNanoUsd } from '../../core/pricing.ts';
import type { LossReason } from '../../database/costs/losses.ts';
import type { ProviderAttempt, UnchargedReason } from '../../database/costs/provider-attempts.ts';
import { dueNanoUsd, type Settlement } from '../../database/ledger/ledger.ts';
import type { UnchargedAttempt } from '../delivery-contract/provider-attempt.ts';
import type { HoldTerms } from './billable-hold.ts';

/**
 * Results of attempts at which a provider worked (delivery/provider-failure.ts). Any other: the
 * answer broke off, or was none.
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
};

/** An answer that our own bounds kept from the customer is a loss of the operator. */
const LOSSES: Readonly<Record<string, LossReason>> = {
  total_timeout: 'timeout',
  too_large: 'response_too_large',
  no_room: 'no_room',
};

/** The record of an answer whose charge waited in the spool, and was refused. */
export function unchargedSettlement(settlement: Settlement): ProviderAttempt {
  const { generationId, organizationId, keyId, model, provider, upstreamId, usage } = settlement;
  return {
    ...{ generationId, organizationId, keyId, model, provider },
    // The spool does not know it.
    attempt: 0,
    providerModel: settlement.providerModel ?? model,
    ...(upstreamId === undefined ? {} : { upstreamId }),
    askedAtMs: settlement.createdAtMs,
    result: 'ok',
    reason: 'not_charged',
    tokens: { usage, source: settlement.usageCounted ? 'counted' : 'reported' },
  };
}

/**
 * The record of an attempt that nobody is charged for, with the loss that is booked for it: what it
 * would have cost, at most the hold.
 */
export function providerAttempt(terms: HoldTerms, attempt: UnchargedAttempt): ProviderAttempt {
  const { work, ...facts } = attempt;
  const lossReason = LOSSES[attempt.result];
  const costNanoUsd = attempt.tokens && chargeNanoUsd(terms.prices, attempt.tokens.usage);
  return {
    ...facts,
    generationId: terms.generationId,
    organizationId: terms.organizationId,
    keyId: terms.keyId,
    model: terms.model,
    result: attempt.result === 'abandoned' ? 'client_left' : attempt.result,
    reason:
      work === 'none' ? 'not_sent' : work === 'refused' ? 'provider_error' : (REASONS[attempt.result] ?? 'broken'),
    ...(lossReason === undefined || costNanoUsd === undefined
      ? {}
      : { loss: { reason: lossReason, amountNanoUsd: dueNanoUsd({ costNanoUsd, holdNanoUsd: terms.holdNanoUsd }) } }),
  };
}
