import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { hasFailed } from '../telemetry/request-metrics.ts';
import { createProviderLog, type ProviderLog } from './process-report-providers.ts';

/** Counts for process reports, taken from the calls of the metrics. */
export interface ProcessActivity {
  readonly inFlight: number;
  /** Since the last call. */
  takeEnded(): { readonly ended: number; readonly failed: number };
  readonly providers: Pick<ProviderLog, 'health'>;
}

export function watchActivity(
  metrics: Metrics,
  clock: Clock,
): { readonly metrics: Metrics; readonly activity: ProcessActivity } {
  const providers = createProviderLog();
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
        providers.note(attempts, clock.nowMs());
        metrics.attempts(attempts);
      },
    },
    activity: {
      providers,
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
