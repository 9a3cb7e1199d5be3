import type { MappedModelView, MappingView, ProcessView, ProviderView } from '#contract/operator.ts';
import { formatProblem } from '#core/config/problem.ts';
import { isDraining } from '#core/process-figures.ts';
import {
  isFresh,
  type ReportedConfiguration,
  type ReportedModel,
  type ReportedProcess,
  type ReportedProvider,
} from '#database/process-reports/report.ts';
import { NO_LIST, pricesView } from './price-table-view.ts';

type ReportedMapping = Omit<MappingView, 'catalogue'>;

/** The current mapping, with the health of each provider from the reports of live processes. */
export function mappingView(
  configuration: ReportedConfiguration | undefined,
  processes: readonly ReportedProcess[],
  nowMs: number,
): ReportedMapping {
  if (configuration === undefined) {
    return { models: [], providers: [], problems: [], warnings: [], restartNeeded: [], processesBehind: 0 };
  }
  const fresh = processes.filter(isFresh);
  return {
    file: configuration.path,
    loadedAtMs: configuration.loadedAtMs,
    models: configuration.models.map((model) => mappedModel(model, nowMs)),
    providers: configuration.providers.map((provider) => providerView(provider, fresh)),
    problems: configuration.refused?.problems.map(formatProblem) ?? [],
    warnings: configuration.warnings.map(formatProblem),
    restartNeeded: configuration.restartNeeded,
    processesBehind: fresh.filter(({ report }) => report.configurationFingerprint !== configuration.fingerprint).length,
  };
}

function mappedModel({ problem, ...model }: ReportedModel, nowMs: number): MappedModelView {
  const { id, disabled, targets, capabilities, contextWindow, maxOutputTokens } = model;
  return {
    id,
    disabled,
    ...(problem === null ? {} : { problem }),
    targets,
    capabilities,
    contextWindow,
    maxOutputTokens,
    ...pricesView(model, NO_LIST, nowMs),
  };
}

function providerView(
  { name, host, hasKey, onDisconnect }: ReportedProvider,
  processes: readonly ReportedProcess[],
): ProviderView {
  const health = processes.flatMap(({ report }) => report.providers[name] ?? []);
  const lastFailure = health
    .flatMap((met) => met.lastFailure ?? [])
    .reduce<ProviderView['lastFailure']>((last, next) => (last && last.atMs >= next.atMs ? last : next), undefined);
  return {
    name,
    host,
    hasKey,
    ...(onDisconnect === null ? {} : { onDisconnect }),
    ejected: health.some(({ ejected }) => ejected === true),
    restingTargets: health.reduce((sum, { restingTargets }) => sum + restingTargets, 0),
    attempts: health.reduce((sum, { attempts }) => sum + attempts, 0),
    failures: health.reduce((sum, { failures }) => sum + failures, 0),
    ...(lastFailure === undefined ? {} : { lastFailure }),
  };
}

/** Without what concerns the configuration and single organizations. */
export function processView(process: ReportedProcess): ProcessView {
  const { id, host, worker, pid, startedAtMs, reportedAtMs, report } = process;
  const { configurationFingerprint, providers, unknownTiers, holds, ...figures } = report;
  return {
    id,
    host,
    worker,
    pid,
    startedAtMs,
    reportedAtMs,
    state: isFresh(process) ? stateOf(report) : 'gone',
    figures: { ...figures, holds: { totalNanoUsd: holds.totalNanoUsd, count: holds.count } },
  };
}

function stateOf({ notReady }: ReportedProcess['report']): ProcessView['state'] {
  if (notReady === null) return 'ready';
  return isDraining(notReady) ? 'draining' : 'not_ready';
}
