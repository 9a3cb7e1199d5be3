import { isObject, type JsonObject, parseError, parseObject } from '#core/json-object.ts';
import { asCompletion, type Completion, hasError } from '../../dialects/completion.ts';
import { isNestedDeeply } from '../../dialects/json-members.ts';
import { bodyFailure, FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import type { SseEvent } from './sse-splitter.ts';

export type StreamEvent = ChunkEvent | { readonly kind: 'done' } | ProviderFailure;

export interface ChunkEvent {
  readonly kind: 'chunk';
  readonly completion: Completion;
}

const DONE = '[DONE]';

/**
 * `undefined`: the event is neither a chunk nor an error, such as a ping or an event without data.
 * It is dropped, because clients could not read it either.
 */
export function meaningOf({ type, data }: SseEvent): StreamEvent | undefined {
  if (data === DONE) return { kind: 'done' };
  const value = parseObject(data);
  if (value === undefined) {
    const text = data.trim();
    if (text === DONE) return { kind: 'done' };
    if (type === 'error') return bodyFailure(data);
    return text === '' ? undefined : (errorListIn(text) ?? FAILURES.malformed);
  }
  if (type === 'error' || hasError(value)) return bodyFailure(value);
  const completion = asCompletion(value);
  if (completion === undefined) return undefined;
  return isNestedDeeply(data) ? FAILURES.malformed : { kind: 'chunk', completion };
}

/** True if a chunk has output, finish reason or usage. A first chunk often only names the role. */
export function hasOutput({ choices, usage }: Completion): boolean {
  return isObject(usage) || choices.some((choice) => isObject(choice) && saysSomething(choice));
}

function saysSomething({ delta, message, text, finish_reason }: JsonObject): boolean {
  const { role: _, ...said }: JsonObject = [delta, message].find(isObject) ?? {};
  return [text, finish_reason, ...Object.values(said)].some((value) => !isEmpty(value));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** The error in an array of errors, as Gemini sends it. */
export function errorListIn(text: string): ProviderFailure | undefined {
  if (!text.trimStart().startsWith('[')) return undefined;
  const value = parseError(text);
  return Array.isArray(value) && isObject(value[0]) && hasError(value[0]) ? bodyFailure(value) : undefined;
}
