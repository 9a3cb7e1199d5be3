import type { JsonObject } from '#core/json-object.ts';
import { eventOf } from '#ext-proc/delivery/other-apis.fixture.ts';
import type { OddityName } from './oddities.ts';

/** An error in the form of a provider. */
export interface RecordedError {
  readonly status: number;
  readonly body: unknown;
}

/** The responses of a provider according to its documentation, issues and users. */
export interface RecordedProvider {
  /** Names of providers in the blocks of docs/providers.md. */
  readonly providers: readonly string[];
  readonly shows: readonly OddityName[];
  /** Members that it refuses in a request, or the only ones that it accepts (`allBut`). */
  readonly refuses: readonly string[] | { readonly allBut: readonly string[] };
  readonly refusal: (member: string) => RecordedError;
  /** Roles that it refuses. */
  readonly refusesRoles?: readonly string[];
  readonly json: object;
  /** The text of a stream with the same response. */
  readonly stream: string;
  readonly error: RecordedError;
  readonly expected: {
    /** Members, besides model and messages, that it is sent for a request with all members. */
    readonly sent: readonly string[];
    readonly values?: JsonObject;
    readonly headers: JsonObject;
    readonly query?: string;
    readonly message: JsonObject;
    readonly finishReason: string;
    readonly usage: JsonObject;
    /** The charge by model of the block, calculated by hand from its prices. */
    readonly costUsd: Readonly<Record<string, number>>;
    /** Status and code, and a pattern of the message for the client. */
    readonly error: readonly [outcome: string, words: RegExp];
  };
}

/** Members of OpenAI's chat completions that the gateway forwards. */
export const CHAT_MEMBERS = [
  ...['frequency_penalty', 'logit_bias', 'logprobs', 'n', 'parallel_tool_calls', 'prediction', 'presence_penalty'],
  ...['prompt_cache_key', 'reasoning_effort', 'response_format', 'safety_identifier', 'seed', 'service_tier', 'stop'],
  ...['temperature', 'tool_choice', 'tools', 'top_logprobs', 'top_p', 'user', 'verbosity'],
] as const;

type ChatMember = (typeof CHAT_MEMBERS)[number];

export function chatMembersBut(...left: readonly ChatMember[]): readonly string[] {
  return CHAT_MEMBERS.filter((member) => !left.includes(member));
}

export function refusedAsOpenAi(member: string): RecordedError {
  const message = `Unknown parameter: '${member}'.`;
  return {
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param: member, code: 'unknown_parameter' } },
  };
}

const AT = { id: 'chatcmpl-recorded', created: 1_790_000_000 };

export function completion(model: string, message: object, finishReason: unknown, usage: object, more = {}): object {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }];
  return { ...AT, object: 'chat.completion', model, choices, usage, ...more };
}

/** A chunk with one choice and `more` members. */
export function chunk(model: string, delta: object, finishReason: unknown = null, more: object = {}): object {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return { ...AT, object: 'chat.completion.chunk', model, choices, ...more };
}

export function usageChunk(model: string, usage: object): object {
  return { ...AT, object: 'chat.completion.chunk', model, choices: [], usage };
}

export function chatStream(...chunks: readonly object[]): string {
  return `${chunks.map((one) => eventOf(one)).join('')}data: [DONE]\n\n`;
}

export function called(id: string, args: string): JsonObject {
  return { id, type: 'function', function: { name: 'get_weather', arguments: args } };
}
