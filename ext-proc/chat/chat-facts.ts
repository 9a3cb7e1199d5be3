import { LONGEST_ECHO, type Refusal, refuse } from '#core/errors/refusal.ts';
import { CalledMessages } from './called-messages.ts';
import type { Edit } from './edited-messages.ts';
import type { JsonCursor, Span } from './json/json-cursor.ts';
import { PromptRecorder } from './tokens/prompt-record.ts';

/**
 * A request for writes to the provider's prompt cache, which cost more than input. It is made by
 * `prompt_cache_options`, `prompt_cache_retention`, or a marker (`cache_control` or
 * `prompt_cache_breakpoint`).
 */
export interface CacheWrites {
  /** The first place that requests writes. */
  readonly param: string;
  /** The first place that requests writes of more than five minutes, which cost even more. */
  readonly longParam?: string;
}

/** Facts that the rules for the fields find while they check a request. */
export interface ChatFacts {
  stream: boolean;
  /** True if the client requested the usage chunk (`stream_options.include_usage`). */
  includeUsage: boolean;
  completions: number;
  /** `max_tokens` or its alias; absent when the client gave none. */
  maxTokens?: number;
  /** `max_tokens` or its alias, as the client named it. */
  maxTokensParam?: string;
  jsonFormat: boolean;
  hasTools: boolean;
  hasImages: boolean;
  /** Place of the first file, as an error's `param`. */
  fileParam?: string;
  reasoningEffort?: string;
  /** `service_tier` as it is sent: `default` for `auto`. */
  serviceTier?: string;
  /** Absent: the body requests none. */
  cacheWrites?: CacheWrites;
  /** `metadata` as JSON, for the request log. Absent: no members. Never in the process log. */
  metadata?: string;
  /** Values of `user` and similar fields, by field. Providers get hashes of them. */
  readonly identities: Map<string, string>;
  /** Fields beside the official ones, in order. */
  readonly extraFields: string[];
  /** Members of `stream_options` except `include_usage`. */
  otherStreamOptions: readonly Span[];
  /** Changes of messages for every provider, in order. */
  readonly edits: Edit[];
  readonly prompt: PromptRecorder;
  readonly called: CalledMessages;
}

export function newChatFacts(): ChatFacts {
  return {
    stream: false,
    includeUsage: false,
    completions: 1,
    jsonFormat: false,
    hasTools: false,
    hasImages: false,
    identities: new Map(),
    extraFields: [],
    otherStreamOptions: [],
    edits: [],
    prompt: new PromptRecorder(),
    called: new CalledMessages(),
  };
}

/** Checks one field and notes its facts. The cursor moves from the field's value to behind it. */
export type FieldRule = (cursor: JsonCursor, facts: ChatFacts, field: string) => Refusal | undefined;

/** `requirement` ends the sentence: `must be a string`. The client's value is not repeated. */
export function invalidField(param: string, requirement: string): Refusal {
  return refuse('invalid_request', { problem: `${param} ${requirement}.` }, { param });
}

/**
 * Reads the members of an object of the official API. A name that differs from a known one only by
 * case is refused: parsers in Go and .NET treat it as the known one, and it would reach the
 * provider unchecked. `paramOf` makes the `param` for a member such as `.url`.
 */
export function eachMember(
  cursor: JsonCursor,
  paramOf: (member: string) => string,
  read: (name: string) => Refusal | undefined,
): Refusal | undefined {
  return cursor.eachMember((name) => {
    const meant = name === '' ? cursor.nameBesidesCase() : '';
    if (meant === '') return read(name);
    return invalidField(paramOf(`.${cursor.keyText(LONGEST_ECHO)}`), `is not a field; ${meant} is`);
  });
}

/** Makes the `param` for a member of the value at `param`. */
export function at(param: string): (member: string) => string {
  return (member) => param + member;
}
