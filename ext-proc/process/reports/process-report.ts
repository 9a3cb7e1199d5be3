import type { Clock } from '#core/clock.ts';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { present } from '#core/present.ts';
import type { ReportedEnvoy } from '#core/process-figures.ts';
import type { ProcessReport, ProviderHealth, ReportedConfiguration } from '#database/process-reports/report.ts';
import type { EnvoyState } from '../../envoy-config/envoy-admin.ts';
import { clusterOf } from '../../envoy-config/provider-cluster.ts';
import { settlesWithin } from '../../fairness/wait.ts';
import type { Hold } from '../../limits/limit-store.ts';
import type { ProcessActivity } from './process-report-activity.ts';
import { sumHolds } from './process-report-holds.ts';
import type { MachineMeter } from './process-report-machine.ts';

export interface ReportSources {
  readonly clock: Clock;
  readonly gatewayVersion: string;
  readonly machine: MachineMeter;
  readonly activity: ProcessActivity;
  readonly config: () => GatewayConfig;
  readonly configuration: () => ReportedConfiguration;
  readonly waitingCharges: () => readonly { readonly bytes: number }[];
  readonly liveHolds: () => readonly Hold[];
  readonly restingTargets: (providers: Iterable<string>) => ReadonlyMap<string, number>;
  /** Absent: the process has none. */
  readonly requestLog?: () => NonNullable<ProcessReport['requestLog']>;
  readonly notReady: () => Promise<string | undefined>;
  /** Absent: another process reports Envoy's state. `undefined`: Envoy does not respond. */
  readonly envoy?: () => Promise<EnvoyState | undefined>;
}

/** Bound for parts without a time-out, above the time-outs of the probe and Envoy's admin. */
const LOOK_WITHIN_MS = 2_500;

export async function gatherReport(sources: ReportSources, stopping: AbortSignal): Promise<ProcessReport> {
  const [notReady, look] = await Promise.all([
    inTime(sources.notReady(), 'whether it is ready was not known in time', stopping),
    sources.envoy === undefined ? null : inTime(sources.envoy(), undefined, stopping),
  ]);
  // Everything below is read in one turn of the event loop, so that the parts fit together.
  const waiting = sources.waitingCharges();
  return {
    atMs: sources.clock.nowMs(),
    gatewayVersion: sources.gatewayVersion,
    configurationFingerprint: sources.configuration().fingerprint,
    notReady: notReady ?? null,
    ...sources.machine.take(),
    requests: { inFlight: sources.activity.inFlight, ...sources.activity.takeEnded() },
    waitingCharges: { count: waiting.length, bytes: waiting.reduce((sum, { bytes }) => sum + bytes, 0) },
    holds: sumHolds(sources.liveHolds()),
    requestLog: sources.requestLog?.() ?? null,
    envoy: look === null ? null : envoyAsReported(look),
    providers: providerHealth(sources, look ?? undefined),
    unknownTiers: sources.activity.unknownTiers(),
  };
}

/** Resolves with `late` if the promise has not settled in time. */
async function inTime<T, Late>(promise: Promise<T>, late: Late, stopping: AbortSignal): Promise<T | Late> {
  return (await settlesWithin(promise, LOOK_WITHIN_MS, stopping)) ? promise : late;
}

function envoyAsReported(look: EnvoyState | undefined): ReportedEnvoy {
  if (look === undefined) return { reachable: false };
  const { version, state, uptimeMs } = look;
  return { reachable: true, version, state, uptimeMs };
}

function providerHealth(
  { config, activity, restingTargets }: ReportSources,
  look: EnvoyState | undefined,
): Record<string, ProviderHealth> {
  const known = config().providers;
  const resting = restingTargets(known.keys());
  const health: [string, ProviderHealth][] = [];
  for (const [name, found] of activity.providers.health(known.keys())) {
    const provider = known.get(name);
    const cluster = provider && clusterOf(provider);
    const ejected = look === undefined || cluster === undefined ? null : look.ejected.has(cluster);
    const serversOut = look?.serversOut.get(cluster ?? '');
    const restingTargets = resting.get(name) ?? 0;
    health.push([name, { ...found, ejected, ...present({ serversOut }), restingTargets }]);
  }
  return Object.fromEntries(health);
}
