import { createChargeMetrics } from './charge-metrics.ts';
import { MetricSet } from './metric-set.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { createProviderAttemptMetrics } from './provider-attempt-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';
import { createStoreMetrics } from './store-metrics.ts';
import { createTraceMetrics } from './trace-metrics.ts';

/**
 * Prometheus metrics. docs/observability.md lists them all. The values of labels are bounded sets:
 * routes, error codes, configured models and providers. A key, organization or address is never
 * one.
 */
export type Metrics = ReturnType<typeof createMetrics>;

export interface MetricsOptions {
  /** Index of this process among those whose metrics share one page. */
  readonly workerIndex?: number;
  readonly version?: string;
}

export function createMetrics({ workerIndex, version = '' }: MetricsOptions = {}) {
  const metrics = new MetricSet();
  const { registry } = metrics;
  // Separate series: a sum would fall when one process restarts, and look like a restart of all.
  if (workerIndex !== undefined) registry.setDefaultLabels({ worker: String(workerIndex) });
  return {
    registry,
    ...createRequestMetrics(metrics),
    ...createChargeMetrics(metrics),
    ...createProviderAttemptMetrics(metrics),
    ...createStoreMetrics(metrics),
    ...createProcessMetrics(metrics, version),
    ...createTraceMetrics(metrics),
  };
}
