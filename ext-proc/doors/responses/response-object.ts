import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { ChargedUsage, ResponseNames } from '../door.ts';
import { sentEvent } from '../events.ts';
import { OutputItems } from './output-items.ts';

/** The members of a response that do not depend on the model's output. */
export function responseHead({ generationId, model, createdAtSeconds, asked }: ResponseNames): JsonObject {
  return {
    id: generationId,
    object: 'response',
    created_at: createdAtSeconds,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model,
    ...asked.repeated,
    output: [],
    usage: null,
  };
}

/** Members that tell how a response ended, from chat's finish reason. */
export function endOf(finishReason: unknown): JsonObject {
  if (finishReason === 'length') return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
  if (finishReason === 'content_filter')
    return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
  return { status: 'completed', incomplete_details: null };
}

/** A whole completion as a response, without its usage. */
export function responseOf(completion: Completion, names: ResponseNames): JsonObject {
  const [choice] = completion.choices;
  const { message, finish_reason: reason, logprobs } = isObject(choice) ? choice : {};
  const items = new OutputItems(names);
  if (isObject(message)) items.takeMessage(message, logprobs);
  const end = endOf(reason);
  const { usage: _, ...head } = responseHead(names);
  const tier = typeof completion.service_tier === 'string' ? { service_tier: completion.service_tier } : {};
  const output = items.all(end.status === 'incomplete' ? 'incomplete' : 'completed');
  return { ...head, ...end, ...tier, output };
}

export function responsesUsage({ usage, costUsd }: ChargedUsage): JsonObject {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
    cost: costUsd,
  };
}

/**
 * The end of a response that failed. The official libraries report an event that has an `error`;
 * others wait for `response.failed`.
 */
export function failureEvents(error: Envelope['error'], response: JsonObject, sequence: number): string {
  const { code, message, param = null } = error;
  const failed = { ...response, status: 'failed', error: { code, message } };
  return (
    sentEvent('error', { sequence_number: sequence, code, message, param, error }) +
    sentEvent('response.failed', { sequence_number: sequence + 1, response: failed })
  );
}
