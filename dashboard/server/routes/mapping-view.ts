import { formatProblem } from '../../../core/config/problem.ts';
import type {
  ReportedConfiguration,
  ReportedModel,
  ReportedProcess,
  ReportedProvider,
} from '../../../database/process-reports/report.ts';
import type { MappedModelView, MappingView, ProviderView } from '../../contract/operator.ts';
import { isFresh } from './process-view.ts';

/** The mapping in force, with what the processes that report have met of each provider. */
export function mappingView(
  configuration: ReportedConfiguration | undefined,
  processes: readonly ReportedProcess[],
): MappingView {
  if (configuration === undefined) {
    return { models: [], providers: [], problems: [], warnings: [], restartNeeded: [], processesBehind: 0 };
  }
  const fresh = processes.filter(isFresh);
  return {
    file: configuration.path,
    loadedAtMs: configuration.loadedAtMs,
    models: configuration.models.map(mappedModel),
    providers: configuration.providers.map((provider) => providerView(provider, fresh)),
    problems: configuration.refused?.problems.map(formatProblem) ?? [],
    warnings: configuration.warnings.map(formatProblem),
    restartNeeded: configuration.restartNeeded,
    processesBehind: fresh.filter(({ report }) => report.configurationFingerprint !== configuration.fingerprint).length,
  };
}

function mappedModel({ prices, problem, ...model }: ReportedModel): MappedModelView {
  const { id, disabled, targets, capabilities, contextWindow, maxOutputTokens } = model;
  return {
    id,
    disabled,
    ...(problem === null ? {} : { problem }),
    targets,
    capabilities,
    contextWindow,
    maxOutputTokens,
    ...prices,
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
    attempts: health.reduce((sum, { attempts }) => sum + attempts, 0),
    failures: health.reduce((sum, { failures }) => sum + failures, 0),
    ...(lastFailure === undefined ? {} : { lastFailure }),
  };
}
