import type { PlayMessage, PlayToolCall } from '#contract/playground.ts';
import type { ApiProblem } from '../../api/api.ts';
import type { PlayEvent, PlayFailure, PlayIds, PlayUsage } from './play.ts';

/** `cut`: the stream had no last event, because the server ended it or the connection broke. */
export type ResponseState = 'waiting' | 'streaming' | 'complete' | 'stopped' | 'failed' | 'cut';

/** The response to one message, as far as it has arrived. */
export interface PlayResponse {
  readonly state: ResponseState;
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

export function responseAfter(response: PlayResponse, event: PlayEvent): PlayResponse {
  switch (event.kind) {
    case 'begun':
      return { ...response, ids: event.ids };
    case 'text':
      return { ...response, state: 'streaming', text: response.text + event.text };
    case 'reasoning':
      return { ...response, state: 'streaming', reasoning: response.reasoning + event.text };
    case 'call':
      return { ...response, state: 'streaming', calls: withCall(response.calls, event) };
    case 'usage':
      return { ...response, usage: event.usage };
    case 'failed':
      return { ...response, state: 'failed', failure: event.failure };
    case 'complete':
      // A stream that failed ends with the same event.
      return response.state === 'failed' ? response : { ...response, state: 'complete' };
  }
}

/** Adds a piece of a tool call. Id and name come first, then its arguments. */
function withCall(
  calls: readonly PlayToolCall[],
  { index, id, name, text }: Extract<PlayEvent, { kind: 'call' }>,
): readonly PlayToolCall[] {
  const { [index]: before = { id: '', type: 'function', function: { name: '', arguments: '' } } } = calls;
  const call: PlayToolCall = {
    id: before.id || id,
    type: 'function',
    function: { name: before.function.name || name, arguments: before.function.arguments + text },
  };
  return index >= calls.length ? [...calls, call] : calls.with(index, call);
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
 * After tool calls, the text is sent as the result of each call.
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
  return messages;
}

function contentOf(text: string, images: readonly string[]): PlayMessage['content'] {
  if (images.length === 0) return text;
  return [{ type: 'text', text }, ...images.map((url) => ({ type: 'image_url', image_url: { url } }) as const)];
}
