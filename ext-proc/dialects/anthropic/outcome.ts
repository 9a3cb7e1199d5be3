import { isObject, type JsonObject } from '#core/json-object.ts';
import { chatError } from './errors.ts';

export function failureOf({ type, error }: JsonObject): JsonObject | undefined {
  return type === 'error' || isObject(error) || typeof error === 'string' ? chatError(error) : undefined;
}

const FINISH_REASONS: ReadonlyMap<unknown, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

/** The finish reason. Some servers give no `stop_reason`. */
export function finishReason(stopReason: unknown, hasCalls: boolean): string {
  if (typeof stopReason !== 'string') return hasCalls ? 'tool_calls' : 'stop';
  return FINISH_REASONS.get(stopReason) ?? 'stop';
}

/** The provider's explanation of why it stopped the model. `undefined`: there is none. */
export function refusalOf(details: unknown): string | undefined {
  const explanation = isObject(details) ? details.explanation : undefined;
  return typeof explanation === 'string' && explanation !== '' ? explanation : undefined;
}
