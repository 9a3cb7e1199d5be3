import { type Refusal, refuse } from '../errors/refusal.ts';
import type { JsonCursor } from './json-cursor.ts';
import type { PromptSink } from './prompt-sink.ts';

/** What the rules for the fields of a request find out while they check it. */
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
  /** The first image that is a remote link, as `param` names it. */
  remoteImageParam?: string;
  reasoningEffort?: string;
  readonly prompt: PromptSink;
}

export function newChatFacts(prompt: PromptSink): ChatFacts {
  return {
    stream: false,
    includeUsage: false,
    completions: 1,
    jsonFormat: false,
    hasTools: false,
    hasImages: false,
    prompt,
  };
}

/** Checks one field, at whose value the cursor stands and over which it steps, and notes what the gateway has to know of it. */
export type FieldRule = (cursor: JsonCursor, facts: ChatFacts, field: string) => Refusal | undefined;

/** `requirement` ends the sentence that begins with the field: `must be a string`. The client's value is not repeated. */
export function invalidField(param: string, requirement: string): Refusal {
  return refuse('invalid_request', { problem: `${param} ${requirement}.` }, { param });
}
