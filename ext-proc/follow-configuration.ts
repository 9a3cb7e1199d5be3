import type { LoadedConfig } from './config/load.ts';
import { formatProblem } from './config/problem.ts';
import { type ConfigWatch, watchConfig } from './config/reload.ts';
import type { ClusterPublisher } from './envoy-config/publish.ts';
import type { Log } from './telemetry/log.ts';
import type { ConfigurationReport } from './telemetry/process-report-configuration.ts';

export interface FollowingOptions {
  readonly path: string;
  readonly initial: LoadedConfig;
  readonly clusters: ClusterPublisher;
  readonly report: ConfigurationReport;
  readonly log: Log;
}

/** The configuration in force: the file as it changes, once Envoy has the clusters for it. SIGHUP asks for it at once. */
export function followConfiguration({ path, initial, clusters, report, log }: FollowingOptions): ConfigWatch {
  const config = watchConfig({
    path,
    env: process.env,
    initial,
    apply: (next) => clusters.publish(next),
    onProblems(problems) {
      report.refused(problems);
      for (const problem of problems) log.error(`configuration not reloaded: ${formatProblem(problem)}`);
    },
    onChange(next, notes) {
      report.inForce(next, notes);
      const { warnings, restartNeeded } = notes;
      log.info({ restart_needed: restartNeeded.length > 0 ? restartNeeded : undefined }, 'configuration reloaded');
      for (const warning of warnings) log.warn(formatProblem(warning));
    },
  });
  process.on('SIGHUP', () => void config.reload());
  return config;
}
