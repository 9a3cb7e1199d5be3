import type { MetricSet } from './metric-set.ts';

export type StoredResponseMetrics = ReturnType<typeof createStoredResponseMetrics>;

/** Stored responses of Idempotency-Keys. */
export function createStoredResponseMetrics(metrics: MetricSet) {
  const evicted = metrics.counter(
    'gateway_idempotency_answers_evicted_total',
    'Stored responses deleted early, because their organization was above idempotency.bytes_per_organization.',
  );
  const stored = metrics.gauge(
    'gateway_idempotency_answers_stored_bytes',
    'Stored responses of all organizations and processes in the database.',
  );
  return {
    /** Responses were evicted, because their organization has stored more than its bound. */
    storedResponsesEvicted: (responses: number) => evicted.inc(responses),
    /** Bytes that all organizations have stored now, in all processes. */
    responseBytesStored: (bytes: number) => stored.set(bytes),
  };
}
