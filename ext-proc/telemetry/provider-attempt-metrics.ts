import { UNCHARGED_REASONS, type UnchargedReason } from '#database/costs/provider-attempts.ts';
import type { MetricSet } from './metric-set.ts';

/** What came of asking an endpoint picker. */
export type PickResult = 'picked' | 'refused' | 'unusable' | 'unavailable';

export type ProviderAttemptMetrics = ReturnType<typeof createProviderAttemptMetrics>;

export function createProviderAttemptMetrics(metrics: MetricSet) {
  const tokens = metrics.counter(
    'gateway_uncharged_provider_tokens_total',
    `Tokens of provider calls that no customer was charged for, by reason: ${UNCHARGED_REASONS.join(', ')}.`,
    { reason: UNCHARGED_REASONS },
  );
  const picks = metrics.counter(
    'gateway_endpoint_picks_total',
    'Requests for which an endpoint picker was to choose, by provider and result: picked, refused, unusable (it named no address), unavailable (it failed, or failed shortly before). In the last two cases Envoy chose.',
    { provider: [], result: [] },
  );
  return {
    endpointPicked: (provider: string, result: PickResult) => picks.inc({ provider, result }),
    /** Tokens that a provider may bill and no organization was charged for. */
    unchargedTokens: (reason: UnchargedReason, count: number) => tokens.inc({ reason }, count),
    providerAttemptsWritten: metrics.count(
      'gateway_provider_attempts_written_total',
      'Uncharged attempts written to the table provider_attempts.',
    ),
    providerAttemptsDropped: metrics.count(
      'gateway_provider_attempts_dropped_total',
      'Uncharged attempts that were not written: the queue was full, or PostgreSQL refused them.',
    ),
    watchRestingTargets: (byProvider: () => ReadonlyMap<string, number>) =>
      metrics.readSeries(
        'gateway_resting_targets',
        'Targets of a provider that this process passes over for now, because they answered 429, or 503 with retry-after.',
        ['provider'],
        () => [...byProvider()].map(([provider, targets]) => [{ provider }, targets] as const),
      ),
  };
}
