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
import type { AdmittedRequest } from './provider/admitted-request.ts';
import { DIALECTS } from './provider/dialects.ts';

const translator = new DoorTranslator();

/** A request to `POST /v1/responses` for a provider of this API. */
export function responsesRequest(
  api: OtherApi | 'chat',
  body: JsonObject = {},
  options: AdmittedRequestOptions = {},
): Promise<AdmittedRequest> {
  return requestAt(RESPONSES_DOOR, api, { input: 'Hello', ...body }, options);
}

/** A request to `POST /v1/messages` for a provider of this API. */
export function messagesRequest(
  api: OtherApi | 'chat',
  body: JsonObject = {},
  options: AdmittedRequestOptions = {},
): Promise<AdmittedRequest> {
  const sent = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...body };
  return requestAt(MESSAGES_DOOR, api, sent, options);
}

/** A body at a door, read and checked. */
export function readAt(door: Door, body: JsonObject, reasoningEfforts: readonly string[] = []) {
  const sent = {
    ...{ body: Buffer.from(JSON.stringify(body)), contentEncoding: undefined, organizationId: 'org-TEST' },
    ...{ memory: { take: () => true }, reasoningEfforts: () => reasoningEfforts, isGone: () => false },
    header: (name: string) => (name === 'anthropic-beta' ? 'effort-2025-11-24' : undefined),
  };
  return readRequest(door, sent, translator, finish);
}

async function requestAt(
  door: Door,
  api: OtherApi | 'chat',
  body: JsonObject,
  options: AdmittedRequestOptions,
): Promise<AdmittedRequest> {
  const sent = { model: 'public-model', ...body, ...(options.stream ? { stream: true } : {}) };
  const read = await readAt(door, sent);
  if (read === undefined || isRefusal(read) || !read.atDoor) throw new Error(JSON.stringify(read));
  const admitted = admittedRequest({ providers: [provider('alpha', { api })], ...options });
  return { ...admitted, chat: { ...read.chat, promptText: () => ['one two three'] }, atDoor: read.atDoor };
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

/** Reads a stream as the official library does. */
export async function readStream(text: string): Promise<ResponseStreamEvent[]> {
  const fetch = async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const events: ResponseStreamEvent[] = [];
  const stream = await new OpenAI({ apiKey: 'k', fetch }).responses.create({ model: 'm', input: 'x', stream: true });
  for await (const event of stream) events.push(event);
  return events;
}

/** The response that the official library gathers from a stream. */
export async function gathered(text: string) {
  const fetch = async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const stream = new OpenAI({ apiKey: 'k', fetch }).responses.stream({ model: 'm', input: 'x' });
  return stream.finalResponse();
}
