import { resolve } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import { type LoadedConfig, loadConfig } from '../../core/config/load.ts';
import { formatProblem } from '../../core/config/problem.ts';
import { type ConfigWatch, watchConfig } from '../../core/config/reload.ts';
import type { RuntimePaths } from '../../core/config/runtime-paths.ts';
import type { Log } from '../../core/log/log.ts';
import type { ReportedConfiguration } from '../../database/process-reports/report.ts';
import { writeBootstrap } from '../envoy-config/bootstrap.ts';
import { ClusterPublisher } from '../envoy-config/publish.ts';
import {
  type ConfigurationReport,
  createConfigurationReport,
} from '../process-reports/process-report-configuration.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface FollowingOptions {
  readonly path: string;
  readonly initial: LoadedConfig;
  readonly paths: RuntimePaths;
  /**
   * True for the one process that writes Envoy's files; the others wait until Envoy has their
   * clusters.
   */
  readonly writes: boolean;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'configurationRead' | 'watchConfiguration'>;
  readonly log: Log;
}

export interface FollowedConfiguration {
  current(): GatewayConfig;
  /** As this process reports it. */
  reported(): ReportedConfiguration;
  close(): void;
}

/**
 * The configuration in force: the file as it changes, once Envoy has the clusters for it. SIGHUP
 * asks for it at once.
 */
export async function followConfiguration(options: FollowingOptions): Promise<FollowedConfiguration> {
  const { path, initial, paths, writes, clock, metrics, log } = options;
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
  { path, initial, metrics, log }: FollowingOptions,
  clusters: ClusterPublisher,
  report: ConfigurationReport,
): ConfigWatch<GatewayConfig> {
  return watchConfig({
    path,
    load: () => loadConfig(path, process.env, { secrets: 'all' }),
    initial,
    apply: (next) => clusters.publish(next),
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
