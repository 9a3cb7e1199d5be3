import type { Log } from '../../core/log/log.ts';
import type { ProviderAttempt, ProviderAttempts } from '../../database/costs/provider-attempts.ts';
import type { ChargeMetrics } from '../telemetry/charge-metrics.ts';
import type { ProviderAttemptMetrics } from '../telemetry/provider-attempt-metrics.ts';
import { BatchedLog, type BatchedLogBounds, type BatchStore } from './batched-log.ts';

/** Takes attempts that nobody was charged for and writes them in batches, beside the requests. */
export interface ProviderAttemptLog extends ProviderAttempts {
  /** Writes what is waiting, and ends; what is not written by the deadline is lost. */
  close(withinMs: number): Promise<void>;
}

export interface ProviderAttemptLogOptions {
  readonly store: BatchStore<ProviderAttempt>;
  readonly metrics: ProviderAttemptMetrics & Pick<ChargeMetrics, 'lost'>;
  readonly log: Log;
}

/** Few requests have one, so that an hour without PostgreSQL fits. */
const BOUNDS: BatchedLogBounds = {
  capacity: 20_000,
  batch: 500,
  everyMs: 500,
  firstRetryMs: 500,
  longestRetryMs: 10_000,
};

export function createProviderAttemptLog({ store, metrics, log }: ProviderAttemptLogOptions): ProviderAttemptLog {
  const attempts = new BatchedLog({
    name: 'the record of attempts at providers',
    store,
    log,
    bounds: BOUNDS,
    onWritten: metrics.providerAttemptsWritten,
    onDropped: metrics.providerAttemptsDropped,
  });
  return {
    record(attempt) {
      const { loss, tokens } = attempt;
      if (tokens) metrics.unchargedTokens(attempt.reason, tokens.usage.promptTokens + tokens.usage.completionTokens);
      if (loss) metrics.lost(loss.reason, loss.amountNanoUsd);
      attempts.add(attempt);
    },
    close: (withinMs) => attempts.close(withinMs),
  };
}
