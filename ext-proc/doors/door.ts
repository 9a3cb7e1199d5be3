import type { DoorApi } from '#core/config/apis.ts';
import type { ProviderApi } from '#core/config/provider-api.ts';
import type { Envelope } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';
import type { JsonKind } from '../chat/json/json-cursor.ts';
import type { Completion } from '../dialects/completion.ts';
import type { MemberEdits } from '../dialects/json-members.ts';
import type { MeteredUsage } from '../hold/delivery-hold.ts';

/**
 * An API beside chat completions that clients may speak. The rest of the gateway knows chat
 * completions: a door translates at both ends of a request, as a dialect does at both ends of a
 * call. If a target speaks the door's own API, bodies and events are passed on instead, and the
 * chat form is only measured. A door does no I/O.
 */
export interface Door {
  readonly api: DoorApi;
  /** The API of the targets to which bodies are passed on. */
  readonly providerApi: ProviderApi;
  /** Accepted top-level fields. */
  readonly fields: ReadonlySet<string>;
  /**
   * Members that objects may have in a body that is passed on, by the object's `type`. An object
   * without `type` is listed by a dot and the name of the member that contains it.
   */
  readonly knownMembers: ReadonlyMap<string, ReadonlySet<string>>;
  /** The field with items whose ids a provider may have stored. Only ids of reasoning are sent. */
  readonly storedItems?: string;
  /** Accepted kinds of the messages' value. Another kind or an empty value counts as missing. */
  readonly messageKinds: readonly JsonKind[];
  /** Fields that a body must have beside `model` and its messages. */
  readonly required?: readonly string[];
  /** Fields of other APIs that are unknown here, each with the end of the refusal. */
  readonly cures: ReadonlyMap<string, string>;
  /** Headers of the client that are sent with a body that is passed on. */
  readonly headers?: readonly string[];
  /** Response header with the id of the request, in addition to `x-request-id`. */
  readonly idHeader?: string;
  /** Event that is sent as heartbeat. Absent: a comment, as in chat. */
  readonly heartbeat?: string;
  /**
   * The request as a chat completion. `body`: an object of accepted fields, each only once. It is
   * not changed, and the result shares parts of it.
   */
  read(body: JsonObject, model: AskedModel): ReadBody | InvalidField;
  /** True if a body that is passed on asks for reasoning, even of a model without efforts. */
  asksToReason?(asked: Asked): boolean;
  /** Edits of the top-level members of a body that is passed on. */
  passedEdits(sent: PassedFields): MemberEdits;
  /** Name of a chat field as clients of the door know it. Other names are returned unchanged. */
  param(chatParam: string): string;
  error(error: Envelope['error'], requestId: string): JsonObject;
  /** The response to a whole completion, without its usage. */
  response(completion: Completion, names: ResponseNames): JsonObject;
  /** Edits of a response that is passed on: they set its names and remove hidden members. */
  passedResponse(response: JsonObject, names: ResponseNames): MemberEdits;
  usage(charged: ChargedUsage): string;
  stream(names: ResponseNames): DoorStream;
  passedStream(names: ResponseNames): PassedStream;
}

export interface ReadBody {
  readonly kind: 'body';
  readonly chat: JsonObject;
  /** The place of each message and tool of the chat body in the client's body. */
  readonly messages: readonly MessagePlace[];
  readonly tools: readonly string[];
  readonly asked: Asked;
  /** False: the body has something that a target of the door's API must not get. */
  readonly mayPass: boolean;
}

/** What the response repeats of the request, or depends on. It can be sent to a thread. */
export interface Asked {
  /** Members of a response of Responses. */
  readonly repeated?: JsonObject;
  /** True if a client of Responses asked for reasoning that it can send back. */
  readonly wantsReasoning?: boolean;
  /** Namespace and name of called tools by their name in chat. */
  readonly namespaces?: Readonly<Record<string, readonly [namespace: string, name: string]>>;
  /** Of Messages. `omitted`: blocks of thinking have a signature and no text. Absent: none. */
  readonly thinking?: 'omitted' | 'shown';
}

/** What a door must know of the model that a body names. It can be sent to a thread. */
export interface AskedModel {
  /** Empty if there is no such model, or it has no efforts. */
  readonly reasoningEfforts: readonly string[];
}

/** Places in the client's body, in the notation of `param`. */
export interface MessagePlace {
  readonly message: string;
  readonly content: string;
  /** Place of each part of the content. Absent: the parts have the same indexes in both bodies. */
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

/** Values that replace the client's in a body that is passed on. */
export interface PassedFields {
  readonly model: string;
  readonly outputLimit: number;
  readonly serviceTier: string | undefined;
  /** Identities by chat field, as the provider may see them. */
  readonly identities: ReadonlyMap<string, string>;
}

/** Ids and names of a response for its client. */
export interface ResponseNames {
  readonly generationId: string;
  readonly requestId: string;
  readonly model: string;
  readonly createdAtSeconds: number;
  readonly asked: Asked;
}

export interface ChargedUsage extends MeteredUsage {
  readonly costUsd: number;
}

/** The end of a stream, whether it is translated or passed on. */
export interface EndedStream {
  readonly keptCharacters: number;
  /** The last events of a complete stream. `failed` may be called after it. */
  ended(charged: ChargedUsage): string;
  /** Last events of a stream that failed. `charged` is absent where nothing was charged. */
  failed(error: Envelope['error'], charged: ChargedUsage | undefined): string;
}

/** Writes a chat stream as events of the door. */
export interface DoorStream extends EndedStream {
  chunk(completion: Completion): string;
  /** Events for chunks that only continue the content of the last one. */
  content(text: string): string;
  /** Events for output that still waits. `failed` follows. */
  rest(): string;
}

/** Passes on the events of a target that speaks the door's API. */
export interface PassedStream extends EndedStream {
  /** One event. Those that end the stream are held back. */
  event(type: string, data: string): string;
  /** `text`: several events that continue the last one. All of them are passed on. */
  several(text: string): string;
}
