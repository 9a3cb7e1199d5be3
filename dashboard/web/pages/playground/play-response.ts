import type { PlayMessage } from '#contract/playground.ts';
import type { ApiProblem } from '../../api/api.ts';
import type { PlayEvent, PlayFailure, PlayIds, PlayUsage } from './play.ts';

/**
 * `cut`: the stream ended without its last event, because the dashboard's server ended it or the
 * connection broke.
 */
export type ResponseState = 'waiting' | 'streaming' | 'complete' | 'stopped' | 'failed' | 'cut';

/** The response to one message, as far as it has arrived. */
export interface PlayResponse {
  readonly state: ResponseState;
  readonly text: string;
  readonly reasoning: string;
  readonly ids?: PlayIds;
  readonly usage?: PlayUsage;
  /** An error of the gateway. */
  readonly failure?: PlayFailure;
  /** A refusal of the dashboard's server, or a lost connection to it. */
  readonly problem?: ApiProblem;
}

/** A message of the user, with the response. */
export interface Play {
  readonly id: number;
  readonly model: string;
  readonly said: string;
  readonly response: PlayResponse;
}

export const NO_RESPONSE: PlayResponse = { state: 'waiting', text: '', reasoning: '' };

export function responseAfter(response: PlayResponse, event: PlayEvent): PlayResponse {
  switch (event.kind) {
    case 'begun':
      return { ...response, ids: event.ids };
    case 'text':
      return { ...response, state: 'streaming', text: response.text + event.text };
    case 'reasoning':
      return { ...response, state: 'streaming', reasoning: response.reasoning + event.text };
    case 'usage':
      return { ...response, usage: event.usage };
    case 'failed':
      return { ...response, state: 'failed', failure: event.failure };
    case 'complete':
      // A failed stream ends with the same event.
      return response.state === 'failed' ? response : { ...response, state: 'complete' };
  }
}

export function isOpen({ state }: PlayResponse): boolean {
  return state === 'waiting' || state === 'streaming';
}

/** The response when nothing more arrives. */
export function responseAtEnd(response: PlayResponse, problem?: ApiProblem): PlayResponse {
  if (!isOpen(response)) return response;
  return problem === undefined ? { ...response, state: 'cut' } : { ...response, state: 'failed', problem };
}

/** Messages of the next request. Plays without a response are left out. */
export function messagesOf(system: string, plays: readonly Play[], said: string): PlayMessage[] {
  const answered = plays.filter(({ response }) => response.text !== '');
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
    ...answered.flatMap(({ said: content, response }) => [
      { role: 'user', content } as const,
      { role: 'assistant', content: response.text } as const,
    ]),
    ...(said === '' ? [] : [{ role: 'user', content: said } as const]),
  ];
}
