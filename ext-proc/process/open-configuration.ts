import { resolve } from 'node:path';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { type LoadedConfig, loadConfig } from '#core/config/load.ts';
import { formatProblem } from '#core/config/problem.ts';
import { type ConfigWatch, watchConfig } from '#core/config/reload.ts';
import { createCertificateRenewal } from '../envoy-config/api-certificate.ts';
import { writeBootstrap } from '../envoy-config/bootstrap.ts';
import { ClusterPublisher } from '../envoy-config/publish.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { GatewayContext } from './gateway-context.ts';
import { type ConfigurationReport, createConfigurationReport } from './reports/process-report-configuration.ts';

export interface OpenConfigurationOptions extends Omit<GatewayContext, 'config'> {
  readonly path: string;
  readonly initial: LoadedConfig;
  readonly tracing: Pick<Tracing, 'prepare'>;
}

/**
 * Follows the configuration file. A change is in force once Envoy has the clusters for it.
 * The first process writes Envoy's files, and the others wait until Envoy has read them. SIGHUP
 * reads the file at once.
 */
export async function openConfiguration(options: OpenConfigurationOptions) {
  const { path, initial, paths, workerIndex, clock, metrics, log } = options;
  const writes = workerIndex === 0;
  if (writes) await writeBootstrap(initial.config, paths);
  const clusters = new ClusterPublisher({ paths, follows: !writes, onFault: (message) => log.error(message) });
  const published = await clusters.publish(initial.config);
  if (!published.ok) throw new Error(published.reason);
  const report = createConfigurationReport(resolve(path), clock, initial);
  metrics.watchConfiguration(report.current);
  const file = watchFile(options, clusters, report);
  process.on('SIGHUP', () => void file.reload());
  return {
    current: file.current,
    reported: report.current,
    close() {
      file.close();
      clusters.close();
    },
  };
}

function watchFile(
  { path, initial, paths, workerIndex, tracing, metrics, log }: OpenConfigurationOptions,
  clusters: ClusterPublisher,
  report: ConfigurationReport,
): ConfigWatch<GatewayConfig> {
  const { tls } = initial.config.listen;
  const renew = tls && workerIndex === 0 ? createCertificateRenewal(tls, paths) : async () => {};
  return watchConfig({
    path,
    load: () => loadConfig(path, process.env, { secrets: 'gateway' }),
    initial,
    onLook: () => renew().catch((err: Error) => log.error({ err }, 'Envoy cannot be told to read the certificate')),
    async apply(next) {
      await tracing.prepare(next.tracing);
      return clusters.publish(next);
    },
    onProblems(problems) {
      report.refused(problems);
      metrics.configurationRead('refused');
      for (const problem of problems) log.error(`configuration not reloaded: ${formatProblem(problem)}`);
    },
    onChange(next, notes) {
      report.inForce(next, notes);
      metrics.configurationRead('applied');
      const { warnings, restartNeeded } = notes;
      log.info({ restart_needed: restartNeeded.length > 0 ? restartNeeded : undefined }, 'configuration reloaded');
      for (const warning of warnings) log.warn(formatProblem(warning));
    },
  });
}
