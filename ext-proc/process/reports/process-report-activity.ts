import type { Clock } from '#core/clock.ts';
import type { ProcessReport } from '#database/process-reports/report.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { hasFailed } from '../../telemetry/request-metrics.ts';
import { createProviderLog, type ProviderLog } from './process-report-providers.ts';

/** Counts for process reports, made from the calls of the metrics. */
export interface ProcessActivity {
  readonly inFlight: number;
  /** Requests that have ended, or failed, since the last call. */
  takeEnded(): { readonly ended: number; readonly failed: number };
  readonly providers: Pick<ProviderLog, 'health'>;
  /** By model: the last tier that no table has, if it was named within the last hour. */
  unknownTiers(): ProcessReport['unknownTiers'];
}

const UNKNOWN_FOR_MS = 3_600_000;

export function watchActivity(
  metrics: Metrics,
  clock: Clock,
): { readonly metrics: Metrics; readonly activity: ProcessActivity } {
  const providers = createProviderLog(clock);
  /** Bounded, because models are those of configurations. */
  const unknownTiers = new Map<string, { readonly tier: string; readonly atMs: number }>();
  let inFlight = 0;
  let ended = 0;
  let failed = 0;
  return {
    metrics: {
      ...metrics,
      requestStarted(probe) {
        if (!probe) inFlight += 1;
        metrics.requestStarted(probe);
      },
      requestEnded(request) {
        if (!request.probe) {
          inFlight -= 1;
          ended += 1;
          if (hasFailed(request)) failed += 1;
        }
        metrics.requestEnded(request);
      },
      attempts(attempts) {
        providers.note(attempts);
        metrics.attempts(attempts);
      },
      unknownTier(model, tier) {
        unknownTiers.set(model, { tier, atMs: clock.monotonicMs() });
        metrics.unknownTier(model, tier);
      },
    },
    activity: {
      providers,
      unknownTiers() {
        for (const [model, { atMs }] of unknownTiers)
          if (clock.monotonicMs() - atMs > UNKNOWN_FOR_MS) unknownTiers.delete(model);
        return Object.fromEntries([...unknownTiers].map(([model, { tier }]) => [model, tier]));
      },
      get inFlight() {
        return inFlight;
      },
      takeEnded() {
        const taken = { ended, failed };
        ended = 0;
        failed = 0;
        return taken;
      },
    },
  };
}
