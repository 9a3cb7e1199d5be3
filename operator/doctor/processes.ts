import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { countOf } from '#core/count-of.ts';
import { isDraining, isSlow } from '#core/process-figures.ts';
import type { DatabaseDiagnosis } from '#database/diagnosis.ts';
import { isFresh, type ReportedConfiguration, type ReportedProcess } from '#database/process-reports/report.ts';
import { type Finding, ok, problem, seeAlert, warning } from './check.ts';
import { clockFinding } from './clock.ts';
import type { LookedAt } from './database.ts';

const SHORT_HOST = 40;
const YOUNG_MS = 60_000;
const MOST_READS = 4;
/** Longer than the interval between reports. */
const NEXT_REPORT_MS = 3_000;
/** Most time between the two clocks of a report: to connect, and for the statement. */
const REPORTED_WITHIN_MS = 2_000;

/** Checks what gateway processes report about themselves, their configuration and their Envoy. */
export async function lookAtProcesses(database: DatabaseDiagnosis, version: string): Promise<readonly Finding[]> {
  let all = await database.processes();
  // The last report of a young process may predate the start of its Envoy.
  for (let read = 1; read < MOST_READS && all.filter(isFresh).some(isStarting); read++) {
    await sleep(NEXT_REPORT_MS);
    all = await database.processes();
  }
  const fresh = all.filter(isFresh);
  if (fresh.length === 0) {
    const advice = 'Start the gateway (npm start), or find in its log why it cannot reach the database.';
    return [...silent(all, fresh), problem('gateway processes', 'none has reported in the last ten seconds', advice)];
  }
  return [
    ...silent(all, fresh),
    ...fresh.flatMap(processFindings),
    sameVersion(fresh, version),
    sameConfiguration(fresh),
    ...configurationFindings(await database.configuration()),
    ...fresh.flatMap(envoyFindings),
  ];
}

/**
 * True if gateway processes report, and all of them run on other machines. Checks that need their
 * machine are then skipped, such as in the dashboard's pod.
 */
export async function areElsewhere({ readable }: LookedAt): Promise<boolean> {
  if (readable === undefined) return false;
  const fresh = (await readable.processes()).filter(isFresh);
  return fresh.length > 0 && fresh.every(({ host }) => host !== hostname());
}

function isStarting({ startedAtMs, report }: ReportedProcess): boolean {
  return report.notReady !== null && Date.now() - startedAtMs < YOUNG_MS;
}

/** Processes without fresh reports: killed or unable, because a clean end removes the row. */
function silent(all: readonly ReportedProcess[], fresh: readonly ReportedProcess[]): Finding[] {
  const replaced = new Set(fresh.map(nameOf));
  return all
    .filter((process) => !isFresh(process) && !replaced.has(nameOf(process)))
    .map((process) => {
      const found = `has not reported for ${Math.round(process.ageMs / 1000)} s`;
      const advice =
        'Check whether it still runs. If it died, restart it: it settles its charge log first. Until then Redis keeps ' +
        'its slots for 15 s, and its money until another process has settled the log, or for timeouts.total and a ' +
        'minute. Limits in memory ended with it. Its row is deleted after an hour.';
      return warning(nameOf(process), found, advice);
    });
}

function processFindings(process: ReportedProcess): Finding[] {
  const { report, pid, reportedAtMs } = process;
  const check = nameOf(process);
  const { atMs = reportedAtMs, notReady, waitingCharges, eventLoopLagMs, requests } = report;
  const difference = { clockAheadMs: atMs - reportedAtMs, clockUncertaintyMs: REPORTED_WITHIN_MS };
  const clock = clockFinding(check, difference, 'its machine', "PostgreSQL's");
  const findings = clock.verdict === 'ok' ? [] : [clock];
  if (notReady !== null && !isDraining(notReady))
    findings.push(problem(check, `not ready: ${notReady}`, seeAlert('GatewayNotReady')));
  if (waitingCharges.count > 0) {
    const waiting = countOf(waitingCharges.count, 'charge waits', 'charges wait');
    const found = `${waiting} for PostgreSQL; completions are refused meanwhile`;
    findings.push(problem(check, found, `Find out why PostgreSQL does not take them. ${seeAlert('ChargesWaiting')}`));
  }
  if (isSlow(report)) {
    const found = `has an event loop that is late by ${Math.round(eventLoopLagMs.p99)} ms, one time in a hundred`;
    findings.push(warning(check, found, `It has too much work or too little CPU. ${seeAlert('EventLoopSlow')}`));
  }
  if (report.requestLog !== null && report.requestLog.dropped > 0) {
    const dropped = countOf(report.requestLog.dropped, 'row of the request log was', 'rows of the request log were');
    const found = `${dropped} dropped since its start`;
    findings.push(warning(check, found, `Charges are not affected. ${seeAlert('RequestLogDropped')}`));
  }
  if (findings.length > 0) return findings;
  return [ok(check, `${notReady ?? 'ready'}, process ${pid}, ${countOf(requests.inFlight, 'request')} in flight`)];
}

function sameVersion(fresh: readonly ReportedProcess[], version: string): Finding {
  const check = 'gateway versions';
  const versions = [...new Set(fresh.map(({ report }) => report.gatewayVersion))].sort();
  if (versions.length > 1) {
    const found = `different ones run: ${versions.join(', ')}`;
    return warning(check, found, 'Complete the rollout, or restart the older ones.');
  }
  const [running = version] = versions;
  if (running === version) return ok(check, `${fresh.length} of ${version}`);
  return warning(check, `${running} runs, this is ${version}`, 'Use the command line of that release.');
}

function sameConfiguration(fresh: readonly ReportedProcess[]): Finding {
  const check = 'configuration in force';
  const fingerprints = new Set(fresh.map(({ report }) => report.configurationFingerprint));
  if (fingerprints.size === 1)
    return ok(check, `the same models and providers in ${countOf(fresh.length, 'process', 'processes')}`);
  const advice = 'Give all of them the same file and secrets. After a change they may differ for some seconds.';
  return problem(check, `${fingerprints.size} different ones at once`, advice);
}

function configurationFindings(configuration: ReportedConfiguration | undefined): Finding[] {
  if (configuration === undefined) return [];
  const { path, refused, restartNeeded, models } = configuration;
  const check = 'configuration in force';
  const findings: Finding[] = [];
  if (refused !== null) {
    const [first] = refused.problems;
    const where = first?.line === undefined ? '' : `, line ${first.line}`;
    const found = `${path} was refused and the former one stays active${where}${first ? `: ${first.message}` : ''}`;
    findings.push(problem(check, found, seeAlert('ConfigurationRefused')));
  }
  if (restartNeeded.length > 0) {
    const found = `${restartNeeded.join(', ')} changed in the file and need a restart`;
    findings.push(warning(check, found, 'Restart the gateway when convenient.'));
  }
  const broken = models.filter((model) => model.problem !== null && !model.disabled);
  if (broken.length > 0) {
    const found = broken.map(({ id, problem: why }) => `${id} answers upstream_config_error: ${why}`).join('; ');
    findings.push(warning(check, found, 'Set the secret, declare the provider, or disable the model.'));
  }
  return findings;
}

function envoyFindings({ host, report }: ReportedProcess): Finding[] {
  const { envoy, providers } = report;
  if (envoy === null) return [];
  const check = `envoy on ${short(host)}`;
  const ejected = Object.entries(providers)
    .filter(([, { ejected: all, serversOut }]) => all === true || serversOut !== undefined)
    .map(([name, { ejected: all, serversOut = [] }]) => {
      const found = `Envoy on ${short(host)} ${all === true ? 'sends it nothing' : 'leaves out some servers'}`;
      return warning(`provider ${name}`, [found, ...serversOut].join(', '), seeAlert('ProviderEjected'));
    });
  if (!envoy.reachable) {
    return [problem(check, 'does not answer', 'Start it and read its log. Without it nothing is served.'), ...ejected];
  }
  const found = `${envoy.version}, ${envoy.state.toLowerCase()} for ${Math.round(envoy.uptimeMs / 60_000)} min`;
  if (envoy.state === 'LIVE') return [ok(check, found), ...ejected];
  return [warning(check, found, 'Wait until it is live. If it does not become live, read its log.'), ...ejected];
}

function nameOf({ host, worker }: ReportedProcess): string {
  return `gateway ${short(host)}/${worker}`;
}

function short(host: string): string {
  return host.length > SHORT_HOST ? `${host.slice(0, SHORT_HOST)}…` : host;
}
