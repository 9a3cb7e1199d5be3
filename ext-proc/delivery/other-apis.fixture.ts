import type { JsonObject } from '#core/json-object.ts';
import { SCENARIOS as MESSAGES } from '../dialects/anthropic/scenarios.fixture.ts';
import { scripted as scriptedMessage } from '../dialects/anthropic/scripted-stream.fixture.ts';
import { SCENARIOS as RESPONSES } from '../dialects/responses/scenarios.fixture.ts';
import { scripted as scriptedResponse } from '../dialects/responses/scripted-stream.fixture.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from './admitted-request.fixture.ts';
import type { AdmittedRequest } from './provider/admitted-request.ts';

/** APIs that providers speak besides chat completions. */
export type OtherApi = 'responses' | 'anthropic';

/** A whole answer of a provider, and the text of the stream in which it sends the same. */
export interface Scenario {
  readonly api: OtherApi;
  readonly name: string;
  readonly body: object;
  readonly events: readonly object[];
}

export const SCENARIOS: readonly Scenario[] = [
  ...Object.entries(RESPONSES).map(
    ([name, body]): Scenario => ({ api: 'responses', name, body, events: scriptedResponse(body) }),
  ),
  ...Object.entries(MESSAGES).map(
    ([name, body]): Scenario => ({ api: 'anthropic', name, body, events: scriptedMessage(body) }),
  ),
];

export function streamOf(events: readonly object[]): string {
  return events.map(eventOf).join('');
}

export function eventOf(event: object): string {
  const type = 'type' in event ? `event: ${String(event.type)}\n` : '';
  return `${type}data: ${JSON.stringify(event)}\n\n`;
}

/** A request to a provider of this API, with this body of a chat completion. */
export function requestTo(
  api: OtherApi,
  chat: JsonObject = { messages: [{ role: 'user', content: 'Hello' }] },
  options: AdmittedRequestOptions = {},
): AdmittedRequest {
  const admitted = admittedRequest({ providers: [provider('alpha', { api })], ...options });
  const body = { ...chat, ...(options.stream ? { stream: true, stream_options: { include_usage: true } } : {}) };
  return { ...admitted, chat: { ...admitted.chat, encodeFor: () => [Buffer.from(JSON.stringify(body))] } };
}

/** Data of the events that a client got. */
export function dataOf(text: string): string[] {
  return text.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []));
}
