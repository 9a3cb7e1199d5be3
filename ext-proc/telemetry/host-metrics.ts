import type { Registry } from 'prom-client';
import { isDraining } from '#core/process-figures.ts';
import { MetricSet } from './metric-set.ts';

export interface HostFacts {
  readonly workers: number;
  notReady(): Promise<string | undefined>;
  /** Of the certificate that Envoy serves. `undefined`: none was seen. */
  certificateExpiresAtMs(): Promise<number | undefined>;
}

/** Metrics of the host, without `worker`. Readiness is of whichever process answers. */
export function hostMetrics({ workers, notReady, certificateExpiresAtMs }: HostFacts): Registry {
  const metrics = new MetricSet();
  metrics.gauge('gateway_workers', 'Gateway processes that this host should have.').set(workers);
  metrics.readSeries(
    'gateway_ready',
    '1 if a request passes Envoy and the process that answers admits completions, as /ready reports. Checked at each scrape. Absent while it drains.',
    [],
    async () => {
      const reason = await notReady();
      return isDraining(reason) ? [] : [[{}, reason === undefined ? 1 : 0]];
    },
  );
  metrics.readSeries(
    'gateway_certificate_expiry_timestamp_seconds',
    'When the certificate that Envoy serves expires. Absent without TLS.',
    ['listener'],
    async () => {
      const ms = await certificateExpiresAtMs();
      return ms === undefined ? [] : [[{ listener: 'api' }, ms / 1000]];
    },
  );
  return metrics.registry;
}
