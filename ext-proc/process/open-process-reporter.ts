import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { Log } from '#core/log/log.ts';
import { openProcessReports } from '#database/process-reports/process-reports.ts';
import packageFile from '../../package.json' with { type: 'json' };
import { createEnvoyStateReader } from '../envoy-config/envoy-admin.ts';
import type { ReportSources } from './reports/process-report.ts';
import { createMachineMeter } from './reports/process-report-machine.ts';
import { startProcessReports } from './reports/process-reporter.ts';

export interface OpenProcessReporterOptions extends Omit<ReportSources, 'gatewayVersion' | 'machine' | 'envoy'> {
  readonly databaseUrl: string;
  /** The first process of a host reports Envoy's state too. */
  readonly workerIndex: number;
  readonly paths: Pick<RuntimePaths, 'envoyAdminSocket'>;
  readonly log: Log;
}

/** Reports this process in `gateway_processes`, until it ends. */
export function openProcessReporter(options: OpenProcessReporterOptions) {
  const { databaseUrl, workerIndex, paths, log, clock } = options;
  const startedAtMs = Math.round(clock.nowMs() - process.uptime() * 1000);
  return startProcessReports({
    process: { id: randomUUID(), host: hostname(), worker: workerIndex, pid: process.pid, startedAtMs },
    reports: openProcessReports(databaseUrl, log),
    sources: {
      ...options,
      gatewayVersion: packageFile.version,
      machine: createMachineMeter(clock),
      ...(workerIndex === 0 ? { envoy: createEnvoyStateReader(paths.envoyAdminSocket, clock) } : {}),
    },
    log,
  });
}
