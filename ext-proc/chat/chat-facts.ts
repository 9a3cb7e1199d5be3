import { type Refusal, refuse } from '../../core/errors/refusal.ts';
import type { JsonCursor, Span } from './json/json-cursor.ts';
import { PromptRecorder } from './tokens/prompt-record.ts';

/** Facts that the rules for the fields find while they check a request. */
export interface ChatFacts {
  stream: boolean;
  includeUsage: boolean;
  completions: number;
  maxTokens?: number;
  /** The name the client used for it. */
  maxTokensParam?: string;
  jsonFormat: boolean;
  hasTools: boolean;
  hasImages: boolean;
  reasoningEffort?: string;
  /** `user` and the like, by field: sent on as hashes. */
  readonly identities: Map<string, string>;
  /** Members of `stream_options` but `include_usage`, in pieces to be joined with commas. */
  otherStreamOptions: readonly Span[];
  readonly prompt: PromptRecorder;
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
    otherStreamOptions: [],
    prompt: new PromptRecorder(),
  };
}

/**
 * Checks one field, at whose value the cursor stands and over which it steps, and notes what the
 * gateway has to know of it.
 */
export type FieldRule = (cursor: JsonCursor, facts: ChatFacts, field: string) => Refusal | undefined;

/**
 * `requirement` ends the sentence that begins with the field: `must be a string`. The client's
 * value is not repeated.
 */
export function invalidField(param: string, requirement: string): Refusal {
  return refuse('invalid_request', { problem: `${param} ${requirement}.` }, { param });
}

/** Longest part of a name that is echoed. */
export const LONGEST_ECHO = 128;

/**
 * Reads the members of an object of the official API. One whose name differs from a known one by
 * nothing but case is that one to parsers in Go and .NET, and would reach the provider unjudged: it
 * is refused. `paramOf` names a member (`.url`).
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
