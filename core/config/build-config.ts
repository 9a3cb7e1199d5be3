import { present } from '../present.ts';
import { DOOR_APIS } from './apis.ts';
import type { DashboardProcessConfig } from './dashboard-config.ts';
import { outputOf, unofferedEmbeddings } from './embeddings-models.ts';
import type { GatewayConfig, Model, Provider, SharedConfig, Target } from './gateway-config.ts';
import { lackingPrices } from './lacking-prices.ts';
import { listen } from './listen.ts';
import { mailOf } from './mail.ts';
import { stripeOf } from './payments.ts';
import { buildPriceLists, lackingListPrices } from './price-lists.ts';
import { costsOf, modelPrices } from './price-schedule.ts';
import type { RuleProblem } from './problem.ts';
import { authOf } from './provider-auth.ts';
import { placeOf, usesTls } from './provider-endpoints.ts';
import { compileShaping } from './request-shaping.ts';
import type { ConfigFile, ModelEntry, ProviderEntry, TargetEntry } from './schema.ts';
import type { Secrets } from './secret-places.ts';
import { signInOf } from './sign-in.ts';
import type { TrustedCa } from './trusted-ca.ts';

/** Makes the configuration of the process from the validated file. */

export interface SettingsInput {
  readonly file: ConfigFile;
  /** Base of relative paths in the file. */
  readonly folder: string;
}

export interface BuildInput extends SettingsInput {
  /** `checked`: the configuration contains no secrets. */
  readonly secrets: Extract<Secrets, 'gateway' | 'checked'>;
  readonly trustedCa: TrustedCa;
  missingSecrets(providerName: string): readonly RuleProblem[];
}

export interface BuiltConfig {
  readonly config: GatewayConfig;
  /** Well-formed parts that cannot work, or are probably mistakes. */
  readonly warnings: readonly RuleProblem[];
}

export function buildConfig(input: BuildInput): BuiltConfig {
  const { file } = input;
  const warnings: RuleProblem[] = [];
  const providers = new Map<string, Provider>();
  const unusable = new Map<string, string>();
  for (const [name, entry] of Object.entries(file.providers)) {
    providers.set(name, provider(name, entry, input));
    const missing = [...input.missingSecrets(name)];
    const path = ['providers', name, entry.endpoints ? 'endpoints' : 'base_url'];
    const trusted = usesTls(entry) ? input.trustedCa : undefined;
    if (missing.length === 0 && trusted?.ok === false) missing.push({ path, message: trusted.reason });
    if (trusted?.ok && trusted.problem !== undefined)
      warnings.push({ path, message: `the bundle of trusted CAs: ${trusted.problem}; the former one stays in use` });
    for (const problem of missing) {
      if (!unusable.has(name)) unusable.set(name, problem.message);
      const message = `${problem.message}; models that have no other target answer upstream_config_error`;
      warnings.push({ ...problem, message });
    }
  }
  const models = new Map<string, Model>();
  for (const [id, entry] of Object.entries(file.models)) {
    const { targets, problems } = targetsOf(file, entry, providers, unusable);
    for (const { index, message, unknown } of problems) {
      if (unknown) warnings.push({ path: ['models', id, 'targets', index, 'provider'], message });
    }
    const problem =
      targets.length > 0
        ? undefined
        : problems.map(({ index, message }) => `target ${index + 1}: ${message}`).join('; ');
    models.set(id, model(id, entry, modelTimeouts(entry, file), targets, problem));
    if (!entry.disabled)
      warnings.push(...lackingPrices(['models', id, 'usd_per_million_tokens'], entry.usd_per_million_tokens));
  }
  warnings.push(...lackingListPrices(file.price_lists, file.models), ...unofferedEmbeddings(file), ...oddApiUrls(file));
  if (models.size === 0)
    warnings.push({ path: ['models'], message: 'no model is configured; every completion is model_not_found' });
  const extra = Object.entries(file.extra_request_fields);
  const extraRequestFields = extra.length === 0 ? {} : { extraRequestFields: new Map(extra) };
  const priceLists = buildPriceLists(file.price_lists);
  const config = {
    ...sharedSettings(input),
    stores: file.stores,
    providers,
    models,
    priceLists,
    ...extraRequestFields,
  };
  const tracing = input.secrets === 'gateway' ? file.tracing : undefined;
  return { config: { ...config, ...present({ tracing }) }, warnings };
}

function keyless({ api_key: _, query: __, headers: ___, ...entry }: ProviderEntry): ProviderEntry {
  return entry;
}

export function sharedSettings({ file, folder }: SettingsInput): SharedConfig {
  const { redis: _, ...stores } = file.stores;
  const { url, api_url: apiUrl, playground_url: playgroundUrl, session } = file.dashboard;
  return {
    listen: listen(file, folder),
    trustedProxies: file.trusted_proxies,
    stores,
    workers: file.workers,
    limits: {
      requestBodyBytes: file.limits.request_body,
      responseBodyBytes: file.limits.response_body,
      readRequestsPerMinute: file.limits.read_rpm,
      refusedRequestsPerMinute: file.limits.refused_rpm,
    },
    timeouts: { totalMs: file.timeouts.total, heartbeatMs: file.timeouts.heartbeat },
    retriesPerTarget: file.retries.per_target,
    chargesDurableIn: file.charges.durable_in,
    idempotencyRetentionMs: file.idempotency.retention,
    idempotencyBytesPerOrganization: file.idempotency.bytes_per_organization,
    requestLogRetentionMs: file.request_log.retention,
    ...present({ topUpUrl: file.top_up_url }),
    dashboard: {
      ...present({ url, apiUrl, playgroundUrl }),
      session: { idleMs: session.idle, absoluteMs: session.absolute, freshPasswordMs: session.fresh_password },
    },
    demo: file.demo,
    apis: new Set(DOOR_APIS.filter((api) => file.apis[api])),
  };
}

export function dashboardSettings(input: SettingsInput): DashboardProcessConfig {
  const { file } = input;
  return {
    ...sharedSettings(input),
    privateNetworks: file.webhooks.private_networks,
    signIn: signInOf(file.sign_in),
    brand: file.dashboard.brand,
    ...present({ mail: mailOf(file.mail), stripe: stripeOf(file.payments) }),
  };
}

function provider(name: string, given: ProviderEntry, { file, secrets, trustedCa }: BuildInput): Provider {
  const entry = secrets === 'gateway' ? given : keyless(given);
  const endpoint = {
    ...placeOf(entry),
    ...(usesTls(entry) && trustedCa.ok ? { trustedCa: trustedCa.bundle } : {}),
    ...authOf(entry, secrets, file.limits.request_body),
  };
  return {
    name,
    api: entry.api,
    ...present({ apiKey: entry.api_key, query: entry.query, headers: entry.headers && inLowerCase(entry.headers) }),
    outputLimitField: entry.output_limit_field,
    ...(entry.extra_fields.length === 0 ? {} : { extraFields: new Set(entry.extra_fields) }),
    ...(entry.stream_options ? {} : { streamOptions: false }),
    ...present({ onDisconnect: entry.on_disconnect }),
    ...(entry.bill_prompt_on_disconnect ? {} : { billPromptOnDisconnect: false }),
    ...(entry.send_traceparent ? { sendTraceparent: true } : {}),
    ...present({ anthropicVersion: entry.anthropic_version, reasoningMemory: entry.reasoning_memory }),
    ...endpoint,
  };
}

function inLowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

interface TargetProblem {
  readonly index: number;
  readonly message: string;
  /** True if the provider is undeclared. One that cannot work is reported at its declaration. */
  readonly unknown: boolean;
}

/** Usable targets, in their order. A model without any cannot work. */
function targetsOf(
  file: ConfigFile,
  entry: ModelEntry,
  providers: ReadonlyMap<string, Provider>,
  unusable: ReadonlyMap<string, string>,
): { targets: Target[]; problems: TargetProblem[] } {
  const targets: Target[] = [];
  const problems: TargetProblem[] = [];
  for (const [index, target] of entry.targets.entries()) {
    const found = providers.get(target.provider);
    const reason = unusable.get(target.provider);
    if (found && reason === undefined) targets.push({ ...targetOf(target, found, file), ...drawOf(entry, index) });
    else if (found) problems.push({ index, unknown: false, message: `provider ${found.name}: ${reason}` });
    else {
      const declared = [...providers.keys()].join(', ') || 'none';
      problems.push({
        index,
        unknown: true,
        message: `names a provider that is not declared; declared are: ${declared}`,
      });
    }
  }
  return { targets, problems };
}

/** A step begins with the first of neighbouring targets with a weight, whether usable or not. */
function drawOf({ targets }: ModelEntry, index: number): Pick<Target, 'draw'> {
  const weight = targets[index]?.weight;
  if (weight === undefined) return {};
  let step = index;
  while (targets[step - 1]?.weight !== undefined) step -= 1;
  return { draw: { step, weight } };
}

const FIRST_BYTE_MS = 120_000;

/** Models that reason may be silent for minutes, and a second attempt would be billed as well. */
function modelTimeouts({ timeouts, reasoning_efforts }: ModelEntry, file: ConfigFile): Model['timeouts'] {
  const { first_byte, stream_idle, total } = file.timeouts;
  const firstByteMs = timeouts.first_byte ?? first_byte ?? (reasoning_efforts.length > 0 ? total : FIRST_BYTE_MS);
  return {
    firstByteMs: Math.min(firstByteMs, total),
    streamIdleMs: Math.min(timeouts.stream_idle ?? stream_idle, total),
  };
}

function targetOf(
  { model, api, reasoning_budgets, cost_usd_per_million_tokens: cost, request }: TargetEntry,
  provider: Provider,
  file: ConfigFile,
): Target {
  const shaping = compileShaping(file.providers[provider.name]?.request, request);
  return {
    provider,
    model,
    api: api ?? provider.api,
    ...(reasoning_budgets === undefined ? {} : { reasoningBudgets: new Map(Object.entries(reasoning_budgets)) }),
    ...(shaping.length === 0 ? {} : { shaping }),
    ...(cost === undefined ? {} : costsOf(cost)),
  };
}

function model(
  id: string,
  entry: ModelEntry,
  timeouts: Model['timeouts'],
  targets: readonly Target[],
  problem: string | undefined,
): Model {
  return {
    id,
    capabilities: new Set(entry.capabilities),
    reasoningEfforts: entry.reasoning_efforts,
    contextWindow: entry.context_window,
    ...present({ longestPrompt: entry.longest_prompt }),
    ...outputOf(entry),
    ...modelPrices(entry.usd_per_million_tokens),
    tokenizer: entry.tokenizer,
    timeouts,
    targets,
    disabled: entry.disabled,
    ...present({ problem }),
  };
}

function oddApiUrls({ dashboard }: ConfigFile): BuiltConfig['warnings'] {
  return (['api_url', 'playground_url'] as const)
    .filter((name) => dashboard[name] !== undefined && !/\/v1\/*$/.test(dashboard[name]))
    .map((name) => ({ path: ['dashboard', name], message: 'does not end in /v1, as the base URL of the API does' }));
}
