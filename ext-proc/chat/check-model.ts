import type { GatewayConfig, Model } from '#core/config/gateway-config.ts';
import { LEAST_OUTPUT_TOKENS } from '#core/config/provider-api.ts';
import { isRefusal, LONGEST_ECHO, type Refusal, refuse } from '#core/errors/refusal.ts';
import type { Organization, Principal } from '#core/principal.ts';
import { DEFAULT_TIER, mayAskFor } from '#core/service-tiers.ts';
import type { CacheWrites } from './chat-facts.ts';
import type { ChatRequest } from './chat-request.ts';
import { withTargetsFor } from './extra-fields.ts';

export interface ModelChoice {
  readonly model: Model;
  /**
   * The limit sent to the provider, for each completion. It is always set, so that the output is
   * bounded (docs/design.md, "Invariants", 1). 0: embeddings have no output.
   */
  readonly outputLimit: number;
  /** Output held for each completion: the limit, or the least that a target's API accepts. */
  readonly heldOutputTokens: number;
  /** The smallest output limit that the APIs of all targets accept. */
  readonly leastOutputTokens: number;
}

/**
 * Checks a request against its organization, its key and its model, in the order of
 * docs/interface.md, "Order of checks", from `n_not_allowed` to `upstream_config_error`.
 */
export function checkModel(
  chat: ChatRequest,
  principal: Principal,
  config: GatewayConfig,
  inputTokens = chat.inputTokens.estimate,
): ModelChoice | Refusal {
  const combination = checkCombinations(chat, principal.organization);
  if (combination) return combination;
  const model = config.models.get(chat.model);
  const name = chat.model.slice(0, LONGEST_ECHO);
  if (!model || model.disabled) return refuse('model_not_found', { model: name });
  const elsewhere = otherEndpoint(chat, model, config);
  if (elsewhere !== undefined) return refuse('model_not_found', { model: `${name} ${elsewhere}` });
  if (principal.key.models && !principal.key.models.has(model.id)) return refuse('model_not_allowed', { model: name });
  const incapable = checkCapabilities(chat, model);
  if (incapable) return incapable;
  const able = withTargetsFor(model, chat.extraFields ?? []);
  if (isRefusal(able)) return able;
  const cap = Math.min(principal.organization.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens);
  const outputLimit = outputLimitFor(chat, model, cap, inputTokens);
  if (typeof outputLimit !== 'number') return outputLimit;
  if (model.problem !== undefined || model.targets.length === 0)
    return refuse('upstream_config_error', { model: name });
  const leastOutputTokens =
    outputLimit === 0 ? 0 : Math.max(...able.targets.map(({ api }) => LEAST_OUTPUT_TOKENS[api]));
  return { model: able, outputLimit, heldOutputTokens: Math.max(outputLimit, leastOutputTokens), leastOutputTokens };
}

/** End of the refusal if another endpoint serves the model. `undefined`: this endpoint does. */
function otherEndpoint(
  { inputTokens: { inputs } }: ChatRequest,
  { capabilities }: Model,
  { apis }: GatewayConfig,
): string | undefined {
  if (capabilities.has('embeddings') === (inputs !== undefined)) return undefined;
  if (inputs !== undefined) return 'for embeddings: it chats, which POST /v1/chat/completions serves';
  return `for chat: it makes embeddings${apis.has('embeddings') ? ', which POST /v1/embeddings serves' : ''}`;
}

function checkCombinations(chat: ChatRequest, organization: Organization): Refusal | undefined {
  if (chat.completions > 1 && !organization.allowMultipleCompletions) return refuse('n_not_allowed');
  if (chat.jsonFormat && chat.stream) return refuse('json_mode_no_stream');
  if (chat.hasRemoteImages) {
    return refuse('image_url_not_supported', {}, { param: chat.remoteImageParam ?? 'messages' });
  }
  return undefined;
}

function checkCapabilities(chat: ChatRequest, model: Model): Refusal | undefined {
  const named = { model: model.id };
  if (chat.hasTools && !model.capabilities.has('tools')) return refuse('tools_not_supported', named);
  if (chat.hasImages && !model.capabilities.has('vision')) return refuse('vision_not_available', named);
  if (chat.jsonFormat && !model.capabilities.has('json_mode')) return refuse('json_mode_not_supported', named);
  if (chat.reasoningEffort !== undefined && !model.reasoningEfforts.includes(chat.reasoningEffort)) {
    const accepted = model.reasoningEfforts.length === 0 ? '(no level at all)' : model.reasoningEfforts.join(', ');
    return refuse('reasoning_effort_not_supported', { ...named, field: 'reasoning_effort', accepted });
  }
  return checkFields(chat, model);
}

/** Fields that depend on the model and have no error code of their own. `auto` means `default`. */
function checkFields({ fileParam, serviceTier, cacheWrites }: ChatRequest, model: Model): Refusal | undefined {
  const named = `The model ${model.id}`;
  if (fileParam !== undefined && !model.capabilities.has('files'))
    return refuse('invalid_request', { problem: `${named} cannot read files.` }, { param: fileParam });
  if (serviceTier !== undefined && !mayAskFor(model.priceTable, serviceTier)) {
    const tiers = [DEFAULT_TIER, ...model.priceTable.serviceTiers.keys()];
    const problem = `${named} has no such service_tier. Accepted: auto, ${tiers.join(', ')}.`;
    return refuse('invalid_request', { problem }, { param: 'service_tier' });
  }
  return cacheWrites === undefined ? undefined : checkCacheWrites(cacheWrites, model);
}

function checkCacheWrites({ param, longParam }: CacheWrites, model: Model): Refusal | undefined {
  const writes = `The model ${model.id} has no price for writes to the prompt cache`;
  const priced = model.priceTable.cacheWrites;
  if (priced === undefined)
    return refuse('invalid_request', { problem: `${writes}, so ${param} is not offered.` }, { param });
  if (longParam === undefined || priced === 'long') return undefined;
  const problem = `${writes} that last longer than five minutes, as ${longParam} asks for.`;
  return refuse('invalid_request', { problem }, { param: longParam });
}

/**
 * The client's limit, or the model's default. A default is lowered to the organization's cap and to
 * the rest of the context window, so that it never causes a refusal. Only longer input does.
 */
function outputLimitFor(chat: ChatRequest, model: Model, cap: number, inputTokens: number): number | Refusal {
  if (chat.maxTokens !== undefined && chat.maxTokens > cap) {
    return refuse(
      'max_tokens_exceeds_cap',
      { requested: chat.maxTokens, cap },
      { param: chat.maxTokensParam ?? 'max_tokens' },
    );
  }
  const { inputs } = chat.inputTokens;
  if (inputs !== undefined) return inputs.longest > model.contextWindow ? tooLong(inputs.longest, model, 'input') : 0;
  const estimatedTokens = inputTokens + (chat.maxTokens ?? 0);
  if (estimatedTokens > model.contextWindow) return tooLong(estimatedTokens, model);
  const room = model.contextWindow - inputTokens;
  return chat.maxTokens ?? Math.max(1, Math.min(model.defaultOutputTokens, cap, room));
}

function tooLong(estimatedTokens: number, { contextWindow }: Model, param?: string): Refusal {
  const values = { estimated_tokens: estimatedTokens, context_window: contextWindow };
  return refuse('context_length_exceeded', values, param === undefined ? {} : { param });
}

/**
 * Estimates from samples are within 6 % (text-meter.ts), and each process takes other samples. If
 * an estimate times this factor exceeds the window, the whole text is estimated instead, so that
 * all processes decide alike.
 */
const SAMPLES_LEAVE_OPEN = 1.25;

/** True if samples cannot decide whether the input fits the model's context window. */
export function isLengthOpen({ inputTokens, maxTokens = 0 }: ChatRequest, { contextWindow }: Model): boolean {
  // Embeddings are measured whole.
  if (inputTokens.isCounted === true || inputTokens.inputs !== undefined) return false;
  return SAMPLES_LEAVE_OPEN * inputTokens.estimate + maxTokens > contextWindow;
}
