import type { LoadedConfig } from './config/load.ts';
import { formatProblem } from './config/problem.ts';
import { type ConfigWatch, watchConfig } from './config/reload.ts';
import type { ClusterPublisher } from './envoy-config/publish.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { ConfigurationReport } from './telemetry/process-report-configuration.ts';

export interface FollowingOptions {
  readonly path: string;
  readonly initial: LoadedConfig;
  readonly clusters: ClusterPublisher;
  readonly report: ConfigurationReport;
  readonly metrics: Pick<Metrics, 'configurationRead'>;
  readonly log: Log;
}

/** The configuration in force: the file as it changes, once Envoy has the clusters for it. SIGHUP asks for it at once. */
export function followConfiguration(options: FollowingOptions): ConfigWatch {
  const { path, initial, clusters, report, metrics, log } = options;
  const config = watchConfig({
    path,
    env: process.env,
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
  process.on('SIGHUP', () => void config.reload());
  return config;
}
