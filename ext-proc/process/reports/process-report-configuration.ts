import { hash } from 'node:crypto';
import type { Clock } from '#core/clock.ts';
import type { GatewayConfig, Model, Provider, Target } from '#core/config/gateway-config.ts';
import type { LoadedConfig } from '#core/config/load.ts';
import type { Failure, Problem } from '#core/config/problem.ts';
import type { ReloadNotes } from '#core/config/reload.ts';
import { present } from '#core/present.ts';
import type { ModelPrices, PriceList } from '#core/price-list.ts';
import { scheduleJson, tableJson } from '#core/price-schedule-json.ts';
import type {
  ReportedConfiguration,
  ReportedModel,
  ReportedPriceList,
  ReportedPrices,
  ReportedProvider,
} from '#database/process-reports/report.ts';

export type ConfigurationReport = ReturnType<typeof createConfigurationReport>;

/** Describes the configuration in force, after each reload too. */
export function createConfigurationReport(path: string, clock: Clock, initial: LoadedConfig) {
  const describe = (config: GatewayConfig, warnings: readonly Problem[], restartNeeded: readonly string[]) => ({
    ...{ ...describeMapping(config), path, loadedAtMs: clock.nowMs(), refused: null, restartNeeded },
    warnings: warnings.map(describeProblem),
  });
  let current: ReportedConfiguration = describe(initial.config, initial.warnings, []);
  return {
    /** The same object until something changes. */
    current: () => current,
    inForce(config: GatewayConfig, { warnings, restartNeeded }: ReloadNotes): void {
      current = describe(config, warnings, restartNeeded);
    },
    /** The file was refused, so the configuration before it stays in force. */
    refused(problems: readonly Failure[]): void {
      current = { ...current, refused: { atMs: clock.nowMs(), problems: problems.map(describeProblem) } };
    },
  };
}

type Mapping = Pick<ReportedConfiguration, 'fingerprint' | 'models' | 'priceLists' | 'providers'>;

/** Names every field that is reported, so that no secret is reported. */
function describeMapping(config: GatewayConfig): Mapping {
  const models = [...config.models.values()].map(describeModel);
  const providers = [...config.providers.values()].map(describeProvider);
  const lists = [...config.priceLists].map(([name, list]) => [name, describeList(list)] as const);
  const mapping = { models, priceLists: Object.fromEntries(lists), providers };
  return { fingerprint: fingerprintOf(mapping), ...mapping };
}

/** Enough digits that two mappings of one gateway never share one by chance. */
const FINGERPRINT_DIGITS = 16;

function fingerprintOf(mapping: Omit<Mapping, 'fingerprint'>): string {
  return hash('sha256', JSON.stringify(mapping)).slice(0, FINGERPRINT_DIGITS);
}

function describeModel(model: Model): ReportedModel {
  return {
    id: model.id,
    capabilities: [...model.capabilities],
    reasoningEfforts: model.reasoningEfforts,
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
    defaultOutputTokens: model.defaultOutputTokens,
    takesTemperature: model.targets.some(takesTemperature),
    ...describePrices(model),
    disabled: model.disabled,
    problem: model.problem ?? null,
    targets: model.targets.map(({ provider, model: name, draw }) => ({
      ...{ provider: provider.name, model: name },
      ...present({ weight: draw?.weight }),
    })),
  };
}

function takesTemperature({ shaping = [] }: Target): boolean {
  return !shaping.some(({ drop }) => drop.has('temperature'));
}

function describePrices({ priceTable, schedule }: ModelPrices): ReportedPrices {
  const { prices, above, serviceTiers } = tableJson(priceTable);
  return { prices, above, serviceTiers, ...(schedule === undefined ? {} : { schedule: scheduleJson(schedule) }) };
}

function describeList({ others, models }: PriceList): ReportedPriceList {
  const listed = [...models].map(([id, one]) => [id, 'percentParts' in one ? one : describePrices(one)] as const);
  return { ...(others === undefined ? {} : { others }), models: Object.fromEntries(listed) };
}

function describeProvider({ name, baseUrl, endpoints, apiKey, auth, onDisconnect }: Provider): ReportedProvider {
  return {
    name,
    host:
      endpoints === undefined || endpoints.length === 1
        ? baseUrl.host
        : `${baseUrl.host} and ${endpoints.length - 1} more`,
    scheme: baseUrl.protocol === 'https:' ? 'https' : 'http',
    hasKey: apiKey !== undefined || auth?.kind === 'aws' || auth?.kind === 'oauth2',
    onDisconnect: onDisconnect ?? null,
  };
}

function describeProblem<P extends Failure>({ missing: _, ...told }: P): Omit<P, 'missing'> {
  return told;
}
