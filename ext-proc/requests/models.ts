import { DOOR_APIS, type DoorApi } from '#core/config/apis.ts';
import type { Model } from '#core/config/gateway-config.ts';
import { isRefusal, LONGEST_ECHO, refuse } from '#core/errors/refusal.ts';
import { CHAT_FIELDS, NOT_OFFERED } from '../chat/chat-fields.ts';
import { EMBEDDINGS_FIELDS } from '../doors/embeddings/embeddings-form.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';
import { modelPricing } from './model-pricing.ts';
import { readQuery } from './query.ts';

/** What clients of Anthropic's API ask for. The list has one page, whatever they ask for. */
const PAGE_QUERY = ['limit', 'after_id', 'before_id', 'beta'];

/**
 * `GET /v1/models`: the enabled models that the key may use, in the order of the configuration.
 * `GET /v1/models/{model}`: one of these.
 */
export async function showModels(request: AuthorizedRequest): Promise<EndpointResult> {
  const { config, principal, arrivedAtMs } = request;
  const query = readQuery(request.route.query, config.apis.has('messages') ? PAGE_QUERY : []);
  if (isRefusal(query)) return query;
  const limited = await request.takeRead();
  if (limited) return limited;
  const allowed = principal.key.models;
  const isShown = ({ id, disabled }: Model) => !disabled && (allowed === undefined || allowed.has(id));
  const record = (model: Model) => ({
    ...modelRecord(model, arrivedAtMs),
    ...endpointsOf(model, config.apis),
    ...(config.apis.has('messages') ? { type: 'model', display_name: model.id, created_at: CREATED_AT } : {}),
  });
  const { model: id } = request.route;
  if (id === undefined)
    return { kind: 'json', body: { object: 'list', data: [...config.models.values()].filter(isShown).map(record) } };
  const model = config.models.get(id);
  if (model === undefined || !isShown(model)) return refuse('model_not_found', { model: id.slice(0, LONGEST_ECHO) });
  return { kind: 'json', body: record(model) };
}

/** OpenAI's format needs the time when a model was made. It is not known, so it is a constant. */
const CREATED_SECONDS = 1_735_689_600;
/** The same for Anthropic's format. */
const CREATED_AT = new Date(CREATED_SECONDS * 1000).toISOString();

/**
 * Names besides our own are those that clients look for: `context_length` and `architecture` of
 * OpenRouter, `max_model_len` of vLLM, `supported_endpoints` of LiteLLM.
 */
function modelRecord(model: Model, atMs: number) {
  return {
    id: model.id,
    object: 'model',
    created: CREATED_SECONDS,
    owned_by: 'inference-gateway',
    capabilities: [...model.capabilities],
    context_window: model.contextWindow,
    context_length: model.contextWindow,
    max_model_len: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    max_completion_tokens: model.maxOutputTokens,
    reasoning_efforts: model.reasoningEfforts,
    architecture: {
      input_modalities: [
        'text',
        ...(model.capabilities.has('vision') ? ['image'] : []),
        ...(model.capabilities.has('files') ? ['file'] : []),
      ],
      output_modalities: [model.capabilities.has('embeddings') ? 'embeddings' : 'text'],
    },
    supported_parameters: supportedParameters(model),
    pricing: modelPricing(model, atMs),
  };
}

/** Paths that serve the model. Absent if chat completions is the only API. */
function endpointsOf({ capabilities }: Model, apis: ReadonlySet<DoorApi>) {
  if (apis.size === 0) return {};
  const isEmbeddings = capabilities.has('embeddings');
  const served = DOOR_APIS.filter((api) => apis.has(api) && (api === 'embeddings') === isEmbeddings);
  const chat = isEmbeddings ? [] : ['/v1/chat/completions'];
  return { supported_endpoints: [...chat, ...served.map((api) => `/v1/${api}`)] };
}

/** Fields that every request has. */
const REQUIRED: ReadonlySet<string> = new Set(['model', 'messages', 'input']);
const CACHE_FIELDS: ReadonlySet<string> = new Set(['prompt_cache_options', 'prompt_cache_retention']);
const NEEDS_TOOLS: ReadonlySet<string> = new Set(['tools', 'tool_choice', 'parallel_tool_calls']);

function supportedParameters({ capabilities, reasoningEfforts, priceTable, targets }: Model): readonly string[] {
  const extra = new Set(targets.flatMap(({ provider }) => [...(provider.extraFields ?? [])]));
  const fields = capabilities.has('embeddings') ? EMBEDDINGS_FIELDS : CHAT_FIELDS;
  const official = [...fields.keys()].filter((name) => {
    if (REQUIRED.has(name) || NOT_OFFERED.has(name)) return false;
    if (CACHE_FIELDS.has(name)) return priceTable.cacheWrites !== undefined;
    if (NEEDS_TOOLS.has(name)) return capabilities.has('tools');
    if (name === 'response_format') return capabilities.has('json_mode');
    return name !== 'reasoning_effort' || reasoningEfforts.length > 0;
  });
  return [...official, ...extra];
}
