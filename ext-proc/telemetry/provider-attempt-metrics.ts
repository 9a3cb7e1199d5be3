import { Counter, Gauge, type Registry } from 'prom-client';
import { UNCHARGED_REASONS, type UnchargedReason } from '#database/costs/provider-attempts.ts';

export interface ProviderAttemptMetrics {
  /** Tokens that a provider may bill and no organization was charged for. */
  unchargedTokens(reason: UnchargedReason, tokens: number): void;
  providerAttemptsWritten(attempts: number): void;
  providerAttemptsDropped(attempts: number): void;
  /** Registers the gauge of resting targets by provider, read at each scrape. */
  watchRestingTargets(byProvider: () => ReadonlyMap<string, number>): void;
}

export function createProviderAttemptMetrics(registers: Registry[]): ProviderAttemptMetrics {
  const tokens = new Counter({
    name: 'gateway_uncharged_provider_tokens_total',
    help: `Tokens of provider calls that no customer was charged for, by reason: ${UNCHARGED_REASONS.join(', ')}.`,
    labelNames: ['reason'],
    registers,
  });
  for (const reason of UNCHARGED_REASONS) tokens.inc({ reason }, 0);
  const written = new Counter({
    name: 'gateway_provider_attempts_written_total',
    help: 'Uncharged attempts written to the table provider_attempts.',
    registers,
  });
  const dropped = new Counter({
    name: 'gateway_provider_attempts_dropped_total',
    help: 'Uncharged attempts that were not written: the queue was full, or PostgreSQL refused them.',
    registers,
  });
  return {
    unchargedTokens: (reason, count) => tokens.inc({ reason }, count),
    providerAttemptsWritten: (attempts) => written.inc(attempts),
    providerAttemptsDropped: (attempts) => dropped.inc(attempts),
    watchRestingTargets(byProvider) {
      new Gauge({
        name: 'gateway_resting_targets',
        help: 'Targets of a provider that this process passes over for now, because they answered 429, or 503 with retry-after.',
        labelNames: ['provider'],
        registers,
        collect() {
          this.reset();
          for (const [provider, targets] of byProvider()) this.set({ provider }, targets);
        },
      });
    },
  };
}
