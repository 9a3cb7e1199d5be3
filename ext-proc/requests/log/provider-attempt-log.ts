import { BufferedWriter } from '#core/batching/buffered-writer.ts';
import type { Log } from '#core/log/log.ts';
import type { UnchargedAttemptRow } from '#database/costs/provider-attempts.ts';
import type { OpenRequestLog } from '#database/request-log/request-log-writer.ts';
import type { ChargeMetrics } from '../../telemetry/charge-metrics.ts';
import type { ProviderAttemptMetrics } from '../../telemetry/provider-attempt-metrics.ts';
import { LOG_BOUNDS } from './request-log-buffer.ts';

export interface ProviderAttemptLogOptions {
  readonly write: OpenRequestLog['writeAttempts'];
  readonly metrics: ProviderAttemptMetrics & Pick<ChargeMetrics, 'lost'>;
  readonly log: Log;
}

/** Writes uncharged attempts in batches. No request waits or fails because of this. */
export function createProviderAttemptLog({ write, metrics, log }: ProviderAttemptLogOptions) {
  const attempts = new BufferedWriter<UnchargedAttemptRow>({
    async write(batch) {
      const refused = await write(batch);
      metrics.providerAttemptsWritten(batch.length - refused);
      if (refused > 0) metrics.providerAttemptsDropped(refused);
    },
    bounds: LOG_BOUNDS,
    onDropped: (_reason, size) => metrics.providerAttemptsDropped(size),
    log,
    messages: {
      failing: 'uncharged attempts cannot be written now: they wait',
      recovered: 'uncharged attempts are written again',
      full: 'uncharged attempts cannot be written: the newest are dropped',
      lost: 'uncharged attempts are lost: the time to stop is over',
    },
  });
  return {
    record(attempt: UnchargedAttemptRow) {
      const { loss, tokens } = attempt;
      if (tokens) metrics.unchargedTokens(attempt.reason, tokens.usage.promptTokens + tokens.usage.completionTokens);
      if (loss) metrics.lost(loss.reason, loss.amountNanoUsd);
      attempts.add(attempt);
    },
    /** Writes waiting attempts, and ends. False: some were not written within this time, in ms. */
    close: (withinMs: number) => attempts.close(withinMs),
  };
}
