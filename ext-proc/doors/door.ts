import type { DoorApi } from '#core/config/apis.ts';
import type { ProviderApi } from '#core/config/provider-api.ts';
import type { Envelope } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';
import type { TokenUsage } from '#core/pricing.ts';
import type { JsonKind } from '../chat/json/json-cursor.ts';
import type { Completion } from '../dialects/completion.ts';
import type { MemberEdits } from '../dialects/json-members.ts';

/**
 * An API beside chat completions that clients may speak. The gateway decides by chat completions: a
 * door stands at both ends of a request, as a dialect stands at both ends of a call. Where a target
 * speaks the door's own API, bodies and events pass through instead, and the chat form is only
 * measured. Everything in a door is pure.
 */
export interface Door {
  readonly api: DoorApi;
  /** The API of the targets whose bodies pass through. */
  readonly providerApi: ProviderApi;
  /** Accepted top-level fields. */
  readonly fields: ReadonlySet<string>;
  /**
   * Members of the objects in a body that passes, by the `type` of an object; of one without, by
   * the name of the member that has it, after a dot.
   */
  readonly knownMembers: ReadonlyMap<string, ReadonlySet<string>>;
  /** The field with items whose ids a provider may have stored. Only those of reasoning pass. */
  readonly storedItems?: string;
  /** Kinds of value that its messages may have. Others, and an empty one, count as missing. */
  readonly messageKinds: readonly JsonKind[];
  /** Fields that a body must have beside `model` and its messages. */
  readonly required?: readonly string[];
  /** Unknown fields of other APIs, with the end of the refusal. */
  readonly cures: ReadonlyMap<string, string>;
  /** Headers of the client that a target gets to which the body passes. */
  readonly headers?: readonly string[];
  /** Header of its responses with the id of the request, beside `x-request-id`. */
  readonly idHeader?: string;
  /** Sent in silence. Absent: a comment, as in chat. */
  readonly heartbeat?: string;
  /**
   * The request as a chat completion. `body`: an object of accepted fields, without replaced
   * members. It is not changed, and the result shares parts of it.
   */
  read(body: JsonObject, model: AskedModel): ReadBody | InvalidField;
  /** True if a body that passes asks a model to reason, whatever efforts it has here. */
  asksToReason?(asked: JsonObject): boolean;
  /** Edits of the top-level members of a body that passes through. */
  passedEdits(sent: PassedFields): MemberEdits;
  /** Name of a chat field as clients of the door know it. Other names come back as they are. */
  param(chatParam: string): string;
  /** Body of an error response. */
  error(error: Envelope['error'], requestId: string): JsonObject;
  /** The response to a whole completion, without its usage. */
  response(completion: Completion, names: ResponseNames): JsonObject;
  /** Edits of a response that passes through: its names, and what its client may not see. */
  passedResponse(response: JsonObject, names: ResponseNames): MemberEdits;
  /** What was charged, as JSON. */
  usage(charged: ChargedUsage): string;
  stream(names: ResponseNames): DoorStream;
  passedStream(names: ResponseNames): PassedStream;
}

export interface ReadBody {
  readonly kind: 'body';
  readonly chat: JsonObject;
  /** Where each message and tool of the chat body stands in the door's. */
  readonly messages: readonly MessagePlace[];
  readonly tools: readonly string[];
  /** What a response repeats or depends on. */
  readonly asked: JsonObject;
  /** False: something in the body is for other targets than those of the door's API. */
  readonly mayPass: boolean;
}

/** What a door must know of the model that a body names. All of it is data. */
export interface AskedModel {
  /** None: there is no such model, or it has none. */
  readonly reasoningEfforts: readonly string[];
}

/** Places as `param` names them. */
export interface MessagePlace {
  readonly message: string;
  readonly content: string;
  /** Place of each part of the content. Absent: they stand as the content has them. */
  readonly parts?: readonly string[];
  readonly calls: readonly string[];
}

export interface InvalidField {
  readonly kind: 'invalid';
  readonly param: string;
  /** Ends the sentence that begins with the field: `must be a string`. */
  readonly requirement: string;
}

export function invalid(param: string, requirement: string): InvalidField {
  return { kind: 'invalid', param, requirement };
}

export function isInvalid(value: object): value is InvalidField {
  return 'kind' in value && value.kind === 'invalid';
}

/** What a target of the door's API is sent instead of the client's values. */
export interface PassedFields {
  readonly model: string;
  readonly outputLimit: number;
  readonly serviceTier: string | undefined;
  /** Identities by chat field, as the provider may see them. */
  readonly identities: ReadonlyMap<string, string>;
}

/** Names that a response has for its client, and what it repeats of the request. */
export interface ResponseNames {
  readonly generationId: string;
  readonly requestId: string;
  readonly model: string;
  readonly createdAtSeconds: number;
  readonly asked: JsonObject;
}

export interface ChargedUsage {
  readonly usage: TokenUsage;
  /** Tier that the response names. */
  readonly serviceTier?: string | undefined;
  readonly costUsd: number;
}

/** The end of a stream, however it came. */
export interface EndedStream {
  /** Characters of the stream that are kept now. */
  readonly keptCharacters: number;
  /** Events of a complete stream that are still to be sent. May be asked for before `failed`. */
  ended(charged: ChargedUsage): string;
  /** Last events of a stream that failed. `charged` is absent where nothing was charged. */
  failed(error: Envelope['error'], charged: ChargedUsage | undefined): string;
}

/** Writes a chat stream as events of the door. */
export interface DoorStream extends EndedStream {
  /** Events for a chunk, as text. */
  chunk(completion: Completion): string;
  /** The same for chunks that only continue the content of the one before. */
  content(text: string): string;
}

/** Passes on the events of a target that speaks the door's API. */
export interface PassedStream extends EndedStream {
  /** One event. Those that end the stream are held back. */
  event(type: string, data: string): string;
  /** Text of several events that continue the last one, all of which are passed on. */
  several(text: string): string;
}
