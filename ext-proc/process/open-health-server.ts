import type { LoadedConfig } from '#core/config/load.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { Accounting } from '../billing/accounting.ts';
import { envoyStats } from '../envoy-config/envoy-stats.ts';
import { startHealthServer } from '../telemetry/health-server.ts';
import { hostMetrics } from '../telemetry/host-metrics.ts';
import { createReadiness, type Readiness, sharedProbeKey } from '../telemetry/readiness.ts';
import { allWorkersMetrics, serveWorkerMetrics } from '../telemetry/worker-metrics.ts';
import type { GatewayContext } from './gateway-context.ts';
import type { EnvoyDrain } from './open-envoy-drain.ts';

export interface OpenReadinessOptions {
  readonly loaded: LoadedConfig;
  readonly paths: RuntimePaths;
  readonly envoyHost: string | undefined;
  readonly envoy: Pick<EnvoyDrain, 'notReady'>;
  readonly accounting: Pick<Accounting, 'refusesBecause'>;
  readonly opensInMs: () => Promise<number>;
}

export async function openReadiness(options: OpenReadinessOptions): Promise<Readiness> {
  const { loaded, paths, envoyHost, envoy, accounting, opensInMs } = options;
  return createReadiness({
    listen: loaded.config.listen,
    ...(envoyHost ? { envoyHost } : {}),
    probeKey: await sharedProbeKey(paths.probeKey),
    envoyEnds: envoy.notReady,
    completionsRefused: async () => accounting.refusesBecause() ?? (await admissionsClosed(opensInMs)),
  });
}

/** Reason why the limit store admits nothing now. `undefined`: it does admit. */
function admissionsClosed(opensInMs: () => Promise<number>): Promise<string | undefined> {
  return opensInMs().then(
    (ms) => (ms > 0 ? `it is not known yet what is held: nothing is admitted for another ${ms} ms` : undefined),
    (error: Error) => `the limit store does not answer: ${error.message}`,
  );
}

/**
 * Every gateway process listens on the metrics address, so that it answers while any of them lives.
 * Whichever is asked also serves the metrics of Envoy and, from their sockets, of the others.
 */
export async function openHealthServer(
  { config, paths, workerIndex, metrics, log }: GatewayContext,
  readiness: Readiness,
) {
  const { listen, workers } = config();
  const { registry } = metrics;
  const { notReady, certificateExpiresAtMs } = readiness;
  const host = hostMetrics({ workers, notReady, certificateExpiresAtMs });
  const others = Array.from({ length: workers }, (_, index) => paths.metricsSocket(index)).toSpliced(workerIndex, 1);
  const page = {
    contentType: registry.contentType,
    read: async () => {
      const own = allWorkersMetrics(registry, others);
      return (await Promise.all([own, host.metrics(), envoyStats(paths.envoyAdminSocket)])).join('\n');
    },
  };
  const onFault = (error: Error) => log.error({ err: error }, 'a connection for metrics or readiness failed');
  const servers = await Promise.all([
    serveWorkerMetrics(registry, paths.metricsSocket(workerIndex), onFault),
    startHealthServer({ ...listen.metrics, isShared: workers > 1 }, readiness, page, onFault),
  ]);
  return { close: async () => void (await Promise.all(servers.map((server) => server.close()))) };
}
