import type { JsonObject } from '#core/json-object.ts';

/**
 * Translation between chat completions and another API that a provider speaks. Limits, holds,
 * retries, usage, relay, cut streams and replay know chat completions only: a dialect stands at
 * both ends of the call. Everything in it is pure, and nothing throws: a provider's input is
 * hostile, and what cannot be translated becomes an error in chat's form.
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
   * choices stands for a body that is no response: readers of completions refuse it.
   */
  response(body: JsonObject): JsonObject;
  /** The body of another status in chat's form. One of unknown form comes back as it is. */
  error(body: unknown): unknown;
  /** A translator for one stream. */
  stream(): StreamTranslator;
  /** Members of the body that ask for a service tier. Absent: `service_tier`, as in chat. */
  tierMembers?(tier: string | undefined): Readonly<Record<string, string>> | undefined;
  /** The service tier that members of a body ask for, in chat's words. Absent: as in chat. */
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
  /** Tier that is asked for; absent: the request names none. */
  readonly serviceTier?: string;
  /** The model has reasoning efforts: reasoning is asked back. */
  readonly isReasoning: boolean;
  /**
   * Tokens to think with, by effort, where the target takes a budget instead of an effort. No
   * thinking is asked for with an effort that has none.
   */
  readonly reasoningBudgets?: ReadonlyMap<string, number>;
  /** Further top-level fields that this provider takes: copied as they are. */
  readonly extraFields: readonly string[];
}

export type TranslatedRequest = { readonly kind: 'body'; readonly body: JsonObject } | Unsayable;

/** A request that the API has no words for: the target is passed over. */
export interface Unsayable {
  readonly kind: 'unsayable';
  /** Field of the client's body. */
  readonly param: string;
  /** A sentence for the client, if no other target is left. */
  readonly problem: string;
}

/**
 * Translates a provider's stream, event by event. A stream that ends without the event that ends
 * it in its API has given no `finish_reason` and no `[DONE]` by then: the readers of chat streams
 * find it cut, and nothing has to be said at its end.
 */
export interface StreamTranslator {
  /** Characters of the stream that are kept now. */
  readonly keptCharacters: number;
  /**
   * Usage and tier, as members of a chunk, as far as the provider has reported them: another object
   * after each word about them. The chunks have them at the end alone, which many a stream does not
   * reach.
   */
  readonly reported: JsonObject | undefined;
  /** Keeps nothing of the stream from now on: only its usage is wanted. Absent: it never does. */
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
  /** Its text, as it stands in JSON between quotes. No chunk is made of an empty one. */
  readonly delta: string;
  /** Its padding, as the text; absent: it has none. */
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
