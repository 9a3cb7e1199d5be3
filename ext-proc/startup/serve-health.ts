import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import type { RuntimePaths } from '../../core/config/runtime-paths.ts';
import { certificateExpiryMs } from '../../core/config/server-certificate.ts';
import { envoyStats } from '../envoy-config/envoy-stats.ts';
import { type HealthServer, startHealthServer } from '../telemetry/health-server.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Readiness } from '../telemetry/readiness.ts';
import { allWorkersMetrics, serveWorkerMetrics } from '../telemetry/worker-metrics.ts';

export interface HealthOptions {
  readonly config: GatewayConfig;
  readonly paths: RuntimePaths;
  readonly workerIndex: number;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
}

/**
 * The first process has the metrics address, and speaks for Envoy and for all others, which give it
 * their metrics on sockets.
 */
export function serveHealth({ config, paths, workerIndex, readiness, metrics }: HealthOptions): Promise<HealthServer> {
  const { listen, workers } = config;
  const { registry } = metrics;
  if (workerIndex !== 0) return serveWorkerMetrics(registry, paths.metricsSocket(workerIndex));
  const others = Array.from({ length: workers - 1 }, (_, index) => paths.metricsSocket(index + 1));
  metrics.watchReadiness(readiness.notReady);
  metrics.watchCertificate(async () => (listen.tls ? certificateExpiryMs(listen.tls.certificatePath) : undefined));
  return startHealthServer(listen.metrics, readiness, {
    contentType: registry.contentType,
    read: async () => {
      const parts = await Promise.all([allWorkersMetrics(registry, others), envoyStats(paths.envoyAdminSocket)]);
      return parts.join('\n');
    },
  });
}
