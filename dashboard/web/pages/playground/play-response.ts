import type { PlayMessage, PlayToolCall } from '#contract/playground.ts';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import type { ApiProblem } from '../../api/api.ts';

/** Ids of the request in the log. A refused request has no generation. */
export interface PlayIds {
  readonly requestId: string | undefined;
  readonly generationId: string | undefined;
}

export interface PlayUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The charged amount. */
  readonly costUsd: number;
}

export interface PlayFailure {
  /** Absent for an error within a stream. */
  readonly status?: number;
  readonly code?: string;
  readonly message: string;
  readonly metadata: JsonObject;
}

/** The response to one message, as far as it has arrived. */
export interface PlayResponse {
  /** `cut`: the stream had no last event, because the server ended it or the connection broke. */
  readonly state: 'waiting' | 'streaming' | 'complete' | 'stopped' | 'failed' | 'cut';
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly PlayToolCall[];
  readonly ids?: PlayIds;
  readonly usage?: PlayUsage;
  /** An error from the gateway. */
  readonly failure?: PlayFailure;
  /** A refusal by the dashboard's server, or a lost connection to it. */
  readonly problem?: ApiProblem;
}

export interface Answer {
  readonly model: string;
  readonly response: PlayResponse;
}

/** A message of the user with the answers of one model, or of two side by side. */
export interface Play {
  readonly id: number;
  readonly said: string;
  /** Images as `data:` URLs. */
  readonly images: readonly string[];
  readonly answers: readonly Answer[];
}

export const NO_RESPONSE: PlayResponse = { state: 'waiting', text: '', reasoning: '', calls: [] };

/** Adds one event of the stream. Unknown members are skipped. */
export function responseAfter(response: PlayResponse, data: string): PlayResponse {
  // A stream that failed ends with the same event.
  if (data === '[DONE]') return response.state === 'failed' ? response : { ...response, state: 'complete' };
  const { error, choices, usage } = parseObject(data) ?? {};
  if (isObject(error)) return { ...response, state: 'failed', failure: failureOf(error) };
  const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
  const delta = isObject(choice) && isObject(choice.delta) ? choice.delta : {};
  const pieces = Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
  const next = {
    ...response,
    text: response.text + textOf(delta.content) + textOf(delta.refusal),
    reasoning: response.reasoning + textOf(delta.reasoning_content),
    calls: pieces.reduce(withCall, response.calls),
    ...(isObject(usage) && { usage: usageOf(usage) }),
  };
  const hasBegun = next.text !== '' || next.reasoning !== '' || next.calls.length > 0;
  return { ...next, state: hasBegun && response.state === 'waiting' ? 'streaming' : response.state };
}

/** Adds a piece of a tool call. Id and name come first, then its arguments. */
function withCall(calls: readonly PlayToolCall[], piece: unknown): readonly PlayToolCall[] {
  if (!isObject(piece) || !isObject(piece.function)) return calls;
  const index = Math.max(0, Math.trunc(Number(piece.index)) || 0);
  const { [index]: before = { id: '', type: 'function', function: { name: '', arguments: '' } } } = calls;
  const call: PlayToolCall = {
    id: before.id || textOf(piece.id),
    type: 'function',
    function: {
      name: before.function.name || textOf(piece.function.name),
      arguments: before.function.arguments + textOf(piece.function.arguments),
    },
  };
  return index >= calls.length ? [...calls, call] : calls.with(index, call);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function usageOf({ prompt_tokens, completion_tokens, cost }: JsonObject): PlayUsage {
  return { promptTokens: Number(prompt_tokens), completionTokens: Number(completion_tokens), costUsd: Number(cost) };
}

export function failureOf(error: unknown): PlayFailure {
  const { code, message, metadata } = isObject(error) ? error : {};
  return {
    ...(typeof code === 'string' ? { code } : {}),
    message: typeof message === 'string' ? message : 'The gateway sent a response that cannot be read.',
    metadata: isObject(metadata) ? metadata : {},
  };
}

export function isOpen({ state }: PlayResponse): boolean {
  return state === 'waiting' || state === 'streaming';
}

/** Requests in progress end with the page, or when the user stops them. */
export function stopped(plays: readonly Play[]): readonly Play[] {
  const stop = (answer: Answer): Answer =>
    isOpen(answer.response) ? { ...answer, response: { ...answer.response, state: 'stopped' } } : answer;
  return plays.map((play) => ({ ...play, answers: play.answers.map(stop) }));
}

/** True for an empty response, which is not part of the conversation. */
export function isEmpty({ text, calls }: PlayResponse): boolean {
  return text === '' && calls.length === 0;
}

/** The response after the last event. */
export function responseAtEnd(response: PlayResponse, problem?: ApiProblem): PlayResponse {
  if (!isOpen(response)) return response;
  return problem === undefined ? { ...response, state: 'cut' } : { ...response, state: 'failed', problem };
}

/**
 * Messages of the next request to the model in that column. Plays without a response are left out.
 * After tool calls, the text is sent as the result of each call. Without a text or image, they are
 * the messages of the last request.
 */
export function messagesOf(
  system: string,
  plays: readonly Play[],
  { said, images }: Pick<Play, 'said' | 'images'>,
  column = 0,
): PlayMessage[] {
  const messages: PlayMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
  let calls: readonly PlayToolCall[] = [];
  const say = (text: string, urls: readonly string[]) => {
    const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: text }) as const);
    messages.push(...(results.length > 0 ? results : [{ role: 'user', content: contentOf(text, urls) } as const]));
  };
  for (const play of plays) {
    const response = (play.answers[column] ?? play.answers[0])?.response ?? NO_RESPONSE;
    if (isEmpty(response)) continue;
    say(play.said, play.images);
    ({ calls } = response);
    const content = response.text === '' ? null : response.text;
    messages.push({ role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) });
  }
  if (said !== '' || images.length > 0) say(said, images);
  // Many models refuse a request that ends with a response.
  else if (messages.at(-1)?.role === 'assistant') messages.pop();
  return messages;
}

function contentOf(text: string, images: readonly string[]): PlayMessage['content'] {
  if (images.length === 0) return text;
  return [{ type: 'text', text }, ...images.map((url) => ({ type: 'image_url', image_url: { url } }) as const)];
}
