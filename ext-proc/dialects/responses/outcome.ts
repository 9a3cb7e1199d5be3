import { isObject, type JsonObject } from '#core/json-object.ts';
import { chatError } from './errors.ts';

/** The error of a response that has not succeeded. */
export function failureOf(response: JsonObject): JsonObject | undefined {
  const { status, error } = response;
  if (isObject(error) || typeof error === 'string') return chatError(error, 'The response failed.');
  switch (status) {
    case 'failed':
    case 'cancelled':
    case 'queued':
    case 'in_progress':
      return chatError({ code: 'server_error' }, `The response ended with the status ${status}.`);
    default:
      return undefined;
  }
}

/** The finish reason of a response that has not failed. */
export function finishReason({ status, incomplete_details: details }: JsonObject, hasCalls: boolean): string {
  if (status === 'incomplete') {
    return isObject(details) && details.reason === 'content_filter' ? 'content_filter' : 'length';
  }
  return hasCalls ? 'tool_calls' : 'stop';
}

/** True if the request asked for JSON. A response repeats the format of its request. */
export function isJsonAnswer({ text }: JsonObject): boolean {
  const format = isObject(text) && isObject(text.format) ? text.format.type : undefined;
  return format === 'json_schema' || format === 'json_object';
}

/**
 * True for a remark of the model before its answer in JSON. It would make the content invalid JSON,
 * so it is passed on as reasoning. The official clients do not read an answer from it either.
 */
export function isAside({ type, phase }: JsonObject, isJson: boolean): boolean {
  return isJson && type === 'message' && typeof phase === 'string' && phase !== 'final_answer';
}

/** Log probabilities of text in chat's form; `null`, nearly always: there are none. */
export function chatLogprobs(logprobs: unknown): JsonObject | null {
  if (!Array.isArray(logprobs) || logprobs.length === 0) return null;
  return { content: logprobs.filter(isObject).map(tokenLogprob), refusal: null };
}

const MOST_ALTERNATIVES = 20;

function tokenLogprob(token: JsonObject): JsonObject {
  const { top_logprobs: others } = token;
  const alternatives = Array.isArray(others) ? others.slice(0, MOST_ALTERNATIVES).filter(isObject) : [];
  return { ...alternative(token), top_logprobs: alternatives.map(alternative) };
}

function alternative({ token, logprob, bytes }: JsonObject): JsonObject {
  return {
    token: typeof token === 'string' ? token : '',
    logprob: typeof logprob === 'number' ? logprob : 0,
    bytes: Array.isArray(bytes) ? bytes.filter((byte) => typeof byte === 'number') : null,
  };
}
