import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { isRefusal } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';
import type { Door } from '../doors/door.ts';
import { MESSAGES_DOOR } from '../doors/messages/messages-door.ts';
import { DoorTranslator } from '../doors/reading/door-translator.ts';
import { readRequest } from '../doors/reading/read-request.ts';
import { RESPONSES_DOOR } from '../doors/responses/responses-door.ts';
import { finish } from '../fairness/steps.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from './admitted-request.fixture.ts';
import { type OtherApi, SCENARIOS, streamOf } from './other-apis.fixture.ts';
import { DIALECTS } from './provider/dialects.ts';

const translator = new DoorTranslator();

/** Makes requests at this door for a provider of an API. */
const requestsAt =
  (door: Door, least: JsonObject) =>
  async (api: OtherApi | 'chat', body: JsonObject = {}, options: AdmittedRequestOptions = {}) => {
    const stream = options.stream ? { stream: true } : {};
    const read = await readAt(door, { model: 'public-model', ...least, ...body, ...stream });
    if (read === undefined || isRefusal(read) || !read.atDoor) throw new Error(JSON.stringify(read));
    const admitted = admittedRequest({ providers: [provider('alpha', { api })], ...options });
    return { ...admitted, chat: { ...read.chat, promptText: () => ['one two three'] }, atDoor: read.atDoor };
  };

export const responsesRequest = requestsAt(RESPONSES_DOOR, { input: 'Hello' });
export const messagesRequest = requestsAt(MESSAGES_DOOR, {
  ...{ max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
});

/** A body at a door, read and checked. */
export function readAt(door: Door, body: JsonObject, reasoningEfforts: readonly string[] = []) {
  const sent = {
    ...{ body: Buffer.from(JSON.stringify(body)), contentEncoding: undefined, organizationId: 'org-TEST' },
    ...{ memory: { take: () => true }, reasoningEfforts: () => reasoningEfforts, isGone: () => false },
    header: (name: string) => (name === 'anthropic-beta' ? 'effort-2025-11-24' : undefined),
  };
  return readRequest(door, sent, translator, finish);
}

/** A whole answer of a provider, and the text of its stream, in each API that providers speak. */
export interface Answer {
  readonly api: OtherApi | 'chat';
  readonly name: string;
  readonly json: string;
  readonly stream: string;
}

export const ANSWERS: readonly Answer[] = SCENARIOS.flatMap(({ api, name, body, events }) => {
  const dialect = DIALECTS[api];
  const stream = dialect?.stream();
  const chunks = events.flatMap((event) => {
    const type = 'type' in event ? String(event.type) : '';
    return stream?.take(type, JSON.stringify(event)) ?? [];
  });
  return [
    { api, name, json: JSON.stringify(body), stream: streamOf(events) },
    {
      ...{ api: 'chat' as const, name: `${name} of ${api}` },
      json: JSON.stringify(dialect?.response(body as JsonObject)),
      stream: chunks.map((data) => `data: ${data}\n\n`).join(''),
    },
  ];
});

/** The official library, which gets this text from its provider. */
const clientGetting = (text: string) =>
  new OpenAI({
    apiKey: 'k',
    fetch: async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } }),
  });

/** Reads a stream as the official library does. */
export async function readStream(text: string): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  const stream = await clientGetting(text).responses.create({ model: 'm', input: 'x', stream: true });
  for await (const event of stream) events.push(event);
  return events;
}

/** The response that the official library gathers from a stream. */
export const gathered = (text: string) =>
  clientGetting(text).responses.stream({ model: 'm', input: 'x' }).finalResponse();

/** True if each item of a stream ends before the next one begins, as OpenAI's do. */
export function isOneAfterAnother(events: readonly ResponseStreamEvent[]): boolean {
  const ofItems = events.flatMap((event) =>
    'output_index' in event ? [`${event.output_index}${/\.output_item\.\w+/.exec(event.type)?.[0] ?? ''}`] : [],
  );
  const count = ofItems.filter((event) => event.endsWith('added')).length;
  const form = Array.from(
    { length: count },
    (_, at) => `${at}\\.output_item\\.added(,${at})*,${at}\\.output_item\\.done`,
  );
  return new RegExp(`^${form.join(',')}$`).test(ofItems.join(','));
}
