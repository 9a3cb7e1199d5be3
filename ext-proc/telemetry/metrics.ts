import { Registry } from 'prom-client';
import { type ChargeMetrics, createChargeMetrics } from './charge-metrics.ts';
import { createProcessMetrics, type ProcessMetrics } from './process-metrics.ts';
import { createProviderAttemptMetrics, type ProviderAttemptMetrics } from './provider-attempt-metrics.ts';
import { createReasoningMetrics, type ReasoningMetrics } from './reasoning-metrics.ts';
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts';
import { createStoreMetrics, type StoreMetrics } from './store-metrics.ts';
import { createStoredResponseMetrics, type StoredResponseMetrics } from './stored-response-metrics.ts';
import { createTraceMetrics, type TraceMetrics } from './trace-metrics.ts';

/**
 * Prometheus metrics; docs/observability.md lists them all. Labels are bounded sets: routes,
 * error codes, configured models and providers; never a key, organization or address.
 */
export interface Metrics
  extends RequestMetrics,
    ChargeMetrics,
    StoredResponseMetrics,
    ReasoningMetrics,
    ProviderAttemptMetrics,
    StoreMetrics,
    ProcessMetrics,
    TraceMetrics {
  readonly registry: Registry;
}

export interface MetricsOptions {
  /** Index of this process among those whose metrics share one page. */
  readonly workerIndex?: number;
  readonly version?: string;
}

export function createMetrics({ workerIndex, version = '' }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  // Separate series: a sum would fall when one process restarts, and look like a restart of all.
  if (workerIndex !== undefined) registry.setDefaultLabels({ worker: String(workerIndex) });
  const registers = [registry];
  return {
    registry,
    ...createRequestMetrics(registers),
    ...createChargeMetrics(registers),
    ...createStoredResponseMetrics(registers),
    ...createReasoningMetrics(registers),
    ...createProviderAttemptMetrics(registers),
    ...createStoreMetrics(registers),
    ...createProcessMetrics(registers, version),
    ...createTraceMetrics(registers),
  };
}
