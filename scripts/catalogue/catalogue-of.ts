import type { CatalogueModel, CataloguePeriod } from '#core/model-catalogue/catalogue-model.ts';
import type { MapEntry } from './litellm-map.ts';
import { saidPrices } from './price-table.ts';

/** Providers of docs/providers.md whose models are in the catalogue, by our name and LiteLLM's. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic'],
  ['cohere', 'cohere_chat'],
  ['deepseek', 'deepseek'],
  ['google', 'gemini'],
  ['mistral', 'mistral'],
  ['moonshot', 'moonshot'],
  ['openai', 'openai'],
  ['xai', 'xai'],
]);

/** A provider's entry of the configuration, as in docs/providers.md. */
export interface BlockProvider extends Readonly<Record<string, unknown>> {
  readonly api?: string;
  readonly request?: { readonly drop?: readonly string[] } & Readonly<Record<string, unknown>>;
}

/** Providers some of whose models refuse temperature and top_p. Their targets drop them. */
const SAMPLING_BY_MODEL = new Set(['anthropic', 'google', 'openai']);
const SAMPLING = ['temperature', 'top_p'];

export function catalogueOf(map: ReadonlyMap<string, MapEntry>, blocks: ReadonlyMap<string, BlockProvider>) {
  const providers: Record<string, BlockProvider> = {};
  const models = new Map<string, CatalogueModel>();
  for (const [provider, mapProvider] of PROVIDERS) {
    const block = blocks.get(provider);
    if (block === undefined) throw new Error(`docs/providers.md has no provider ${provider}`);
    providers[provider] = forAllModels(provider, block);
    for (const [name, entry] of map) {
      if (entry.litellm_provider !== mapProvider) continue;
      const model = modelOf(provider, name.slice(name.indexOf('/') + 1), entry, block);
      if (model !== undefined) models.set(model.id, model);
    }
  }
  const sorted = [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { providers, models: sorted };
}

/** The block without settings for some models only and without fields to be declared first. */
function forAllModels(provider: string, { extra_fields: _declared, request, ...rest }: BlockProvider): BlockProvider {
  if (request === undefined) return rest;
  const { drop = [], ...others } = request;
  const dropped = SAMPLING_BY_MODEL.has(provider) ? drop.filter((field) => !SAMPLING.includes(field)) : drop;
  const left = { ...(dropped.length === 0 ? {} : { drop: dropped }), ...others };
  return Object.keys(left).length === 0 ? rest : { ...rest, request: left };
}

/** Excludes fine-tuned models, which have ids of their own. */
const NO_NAME = /^ft:|^container$/;

function modelOf(provider: string, name: string, entry: MapEntry, block: BlockProvider): CatalogueModel | undefined {
  if (NO_NAME.test(name) || (entry.mode !== 'chat' && entry.mode !== 'responses')) return undefined;
  if (block.api === 'responses' && isForChatAlone(entry)) return undefined;
  const said = saidPrices(name, entry);
  if (said === undefined || said.unsaid.length > 0) return undefined;
  if (said.table.input === 0 && said.table.output === 0) return undefined;
  const maxInput = tokens(entry.max_input_tokens);
  const maxOutput = tokens(entry.max_output_tokens);
  if (maxInput === undefined || maxOutput === undefined) return undefined;
  const window = windowOf(provider, maxInput, maxOutput);
  const outputTokens = Math.min(maxOutput, window);
  const tokenizer = provider === 'openai' ? tokenizerOf(name) : undefined;
  const target = targetOf(provider, entry, outputTokens);
  const id = `${provider}/${name}`;
  const shutdown = typeof entry.deprecation_date === 'string' ? entry.deprecation_date : shutdownOf(id);
  return {
    id,
    capabilities: capabilitiesOf(entry, block),
    reasoning_efforts: effortsOf(provider, entry),
    context_window: window,
    max_output_tokens: outputTokens,
    usd_per_million_tokens: takesTiers(block) ? said.table : withoutTiers(said.table),
    ...(tokenizer === undefined ? {} : { tokenizer }),
    ...(shutdown === undefined ? {} : { shutdown_date: shutdown }),
    ...(Object.keys(target).length === 0 ? {} : { target }),
  };
}

/** A provider that never receives the field serves only its default tier. */
function takesTiers({ request }: BlockProvider): boolean {
  return request?.drop?.includes('service_tier') !== true;
}

function withoutTiers({ service_tiers: _, ...table }: CataloguePeriod): CataloguePeriod {
  return table;
}

function isForChatAlone({ supported_endpoints: endpoints }: MapEntry): boolean {
  return Array.isArray(endpoints) && !endpoints.includes('/v1/responses');
}

function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** OpenAI's context windows for which the map gives the input without the output. */
const OPENAI_WINDOWS = new Set([400_000, 1_050_000]);

function windowOf(provider: string, maxInput: number, maxOutput: number): number {
  const sum = maxInput + maxOutput;
  return provider === 'openai' && OPENAI_WINDOWS.has(sum) ? sum : maxInput;
}

/** Tokenizers by model family, as in OpenAI's tiktoken. */
function tokenizerOf(name: string): string {
  return /^(?:gpt-3\.5|gpt-4(?:-|$))/.test(name) ? 'cl100k_base' : 'o200k_base';
}

function capabilitiesOf(entry: MapEntry, block: BlockProvider): readonly string[] {
  // Chat completions of other providers accept no files.
  const takesFiles = (block.api ?? 'chat') !== 'chat';
  return [
    ...(entry.supports_function_calling === true ? ['tools'] : []),
    ...(entry.supports_vision === true ? ['vision'] : []),
    ...(entry.supports_response_schema === true ? ['json_mode'] : []),
    ...(entry.supports_pdf_input === true && takesFiles ? ['files'] : []),
  ];
}

/** Reasoning efforts that the map lacks, by provider. */
const EFFORTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['cohere', ['none', 'high']],
  ['xai', ['low', 'high']],
]);
const BASIC_EFFORTS = new Set(['low', 'medium', 'high']);
const ALL_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

function effortsOf(provider: string, entry: MapEntry): readonly string[] {
  if (entry.supports_reasoning !== true) return [];
  if (Array.isArray(entry.reasoning_effort_levels)) return entry.reasoning_effort_levels;
  const told = EFFORTS.get(provider);
  if (told !== undefined) return told;
  return ALL_EFFORTS.filter((effort) => {
    const supported = entry[`supports_${effort}_reasoning_effort`];
    return BASIC_EFFORTS.has(effort) ? supported !== false : supported === true;
  });
}

const BUDGETS = { low: 1024, medium: 8192, high: 24_576 };

function targetOf(provider: string, entry: MapEntry, maxOutput: number): Readonly<Record<string, unknown>> {
  const reasons = entry.supports_reasoning === true;
  const budgets = provider === 'anthropic' && reasons && entry.supports_adaptive_thinking !== true;
  const fitting = Object.entries(BUDGETS).filter(([, budget]) => budget < maxOutput);
  const refusesSampling = entry.supports_sampling_params === false || (provider === 'openai' && reasons);
  const drops = refusesSampling && SAMPLING_BY_MODEL.has(provider);
  return {
    ...(budgets ? { reasoning_budgets: Object.fromEntries(fitting) } : {}),
    ...(drops ? { request: { drop: SAMPLING } } : {}),
  };
}

/** A shutdown date that the map lacks. */
interface Shutdown {
  readonly ids: readonly string[];
  readonly day: string;
  readonly source: string;
  readonly why: string;
}

export const SHUTDOWNS: readonly Shutdown[] = [
  {
    ids: ['deepseek/deepseek-coder', 'deepseek/deepseek-r1', 'deepseek/deepseek-v3', 'deepseek/deepseek-v3.2'],
    day: '2026-07-24',
    source: 'https://api-docs.deepseek.com/news/news260424',
    why: 'They were served as deepseek-chat and deepseek-reasoner, which ended on that day. DeepSeek lists V4 alone.',
  },
];

function shutdownOf(id: string): string | undefined {
  return SHUTDOWNS.find(({ ids }) => ids.includes(id))?.day;
}
