import type { JsonObject } from '#core/json-object.ts';

/**
 * Translation between chat completions and another API that a provider speaks. Limits, holds,
 * retries, usage, relay, cut streams and replay know chat completions only: a dialect translates at
 * both ends of the call. It does no I/O and never throws: a provider's input is hostile, and what
 * cannot be translated becomes an error in chat's form.
 */
export interface Dialect {
  /** Further request headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Body for the provider, before shaping. `chat`: the client's body after validation, as
   * `parseExactly` gives it, without its null members. It is not changed, and the result shares
   * parts of it.
   */
  request(chat: JsonObject, sent: SentFields): TranslatedRequest;
  /**
   * The chat completion for the JSON body of a 200, or `{error}` in chat's form. An object without
   * choices means that the body is not a response. Readers of completions reject it.
   */
  response(body: JsonObject): JsonObject;
  /** The body of another status in chat's form. A body of unknown form is returned unchanged. */
  error(body: unknown): unknown;
  /** `isPassed`: the client gets the provider's own events, and the translation is only metered. */
  stream(isPassed?: boolean): StreamTranslator;
  /** Members of the body that request a service tier. Absent: `service_tier`, as in chat. */
  tierMembers?(tier: string | undefined): Readonly<Record<string, string>> | undefined;
  /** The service tier that members of a body request, by its name in chat. Absent: as in chat. */
  tierIn?(word: (name: string) => string | undefined): string | undefined;
}

/** Fields that the gateway sets, whatever the client's body says about them. */
export interface SentFields {
  /** The provider's name for the model. */
  readonly model: string;
  readonly outputLimit: number;
  readonly stream: boolean;
  /** `user`, `safety_identifier` and `prompt_cache_key`, by field, as the provider may see them. */
  readonly identities: ReadonlyMap<string, string>;
  /** Absent: the request names no tier. */
  readonly serviceTier?: string;
  /** True if the model has reasoning efforts. The request then asks for its reasoning. */
  readonly isReasoning: boolean;
  /**
   * Thinking budgets in tokens, by effort, for a target that accepts a budget instead of an effort.
   * An effort without a budget requests no thinking.
   */
  readonly reasoningBudgets?: ReadonlyMap<string, number>;
  /** Further top-level fields that this provider accepts. They are copied unchanged. */
  readonly extraFields: readonly string[];
}

export type TranslatedRequest = { readonly kind: 'body'; readonly body: JsonObject } | Unsayable;

/** A request that the API cannot express. The target is skipped. */
export interface Unsayable {
  readonly kind: 'unsayable';
  /** Field of the client's body. */
  readonly param: string;
  /** A sentence for the client, if no other target is left. */
  readonly problem: string;
}

/**
 * Translates a provider's stream, event by event. A stream without the final event of its API has
 * no `finish_reason` and no `[DONE]` in its translation. Readers of chat streams recognize it as
 * cut, so the translator need not be told of the end.
 */
export interface StreamTranslator {
  /** Characters of the stream that the translator keeps now. */
  readonly keptCharacters: number;
  /**
   * Usage and tier that the provider has reported so far, as members of a chunk. Each report makes
   * a new object. The chunks contain them only at the end, which many streams do not reach.
   */
  readonly reported: JsonObject | undefined;
  /** Drops all state but the usage, and keeps no more. Absent: the translator keeps no text. */
  forget?(): void;
  /**
   * `type` and `data` of one server-sent event. Returns the data of the chat stream's events, in
   * their order: chunks, `{error}` or `[DONE]`, each as text. Nothing follows an error or `[DONE]`.
   */
  take(type: string, data: string): readonly string[];
  /**
   * Recognizes an event at this position of the stream's text that continues the last one: its
   * chunk would differ from the last chunk only in its text and padding. The caller then reuses the
   * last chunk and need not `take` the event. `undefined`: the event is a different one and must be
   * taken.
   */
  further(text: string, start: number): FurtherDelta | undefined;
}

/** An event that continues the text of the event before it. */
export interface FurtherDelta {
  /** Position after its data. */
  readonly end: number;
  /** Its text, as JSON without the quotes. An empty text makes no chunk. */
  readonly delta: string;
  /** Its padding, in the same form. `undefined`: it has none. */
  readonly padding: string | undefined;
}

/** For an event that has no counterpart. */
export const NO_EVENTS: readonly string[] = [];
export const DONE_EVENTS: readonly string[] = ['[DONE]'];

/**
 * True for data without a meaning in another API. `[DONE]` does not end such a stream: some servers
 * send it after the event that does.
 */
export function isNothing(data: string): boolean {
  const text = data.trim();
  return text === '' || text === '[DONE]';
}

/** Neither API gives several completions for one request. */
export const MANY_COMPLETIONS: Unsayable = {
  kind: 'unsayable',
  param: 'n',
  problem: 'n must be 1: this model gives one completion at a time.',
};
