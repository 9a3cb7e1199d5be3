import { REPORT_FRESH_MS, type ReportedProcess } from '../../../database/process-reports/report.ts';
import type { ProcessView } from '../../contract/operator.ts';

export function isFresh({ ageMs }: ReportedProcess): boolean {
  return ageMs <= REPORT_FRESH_MS;
}

export function processView(process: ReportedProcess): ProcessView {
  const { id, host, worker, pid, startedAtMs, reportedAtMs, report } = process;
  const overSeconds = Math.max(report.overMs, 1) / 1000;
  return {
    id,
    host,
    worker,
    pid,
    version: report.gatewayVersion,
    startedAtMs,
    reportedAtMs,
    state: isFresh(process) ? (report.notReady === null ? 'ready' : 'not_ready') : 'gone',
    ...(report.notReady === null ? {} : { notReadyReason: report.notReady }),
    requestsInFlight: report.requests.inFlight,
    requestsPerSecond: report.requests.ended / overSeconds,
    failuresPerSecond: report.requests.failed / overSeconds,
    heldNanoUsd: report.holds.totalNanoUsd,
    holds: report.holds.count,
    spoolCharges: report.spool.charges,
    spoolBytes: report.spool.bytes,
    logRowsWaiting: report.requestLog?.waiting ?? 0,
    logRowsDropped: report.requestLog?.dropped ?? 0,
    eventLoopLagP99Ms: report.eventLoopLagMs.p99,
    rssBytes: report.rssBytes,
    cpuFraction: report.cpuFraction,
    ...(report.envoy === null ? {} : { envoy: report.envoy }),
  };
}
