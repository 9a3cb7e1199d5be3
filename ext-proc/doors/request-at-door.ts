import type { RequestShaping } from '#core/config/gateway-config.ts';
import type { ProviderApi } from '#core/config/provider-api.ts';
import type { BodyField } from '../chat/provider-body.ts';
import { changesRoles, shapeMembers } from '../chat/request-shaping.ts';
import { freeMemory } from '../fairness/growing-bytes.ts';
import type { Asked, Door, PassedFields } from './door.ts';

/** The client's own body. */
interface DoorBody {
  readonly bytes: Buffer;
  /** Top-level fields that are not null. */
  readonly fields: readonly BodyField[];
}

/** Facts of a request beside its body. */
interface DoorFacts {
  readonly asked: Asked;
  readonly mayPass: boolean;
  /** True if tool results have images or files, which chat does not allow (tool-media.ts). */
  readonly hasToolMedia: boolean;
  /** The client's headers that are sent with its body. */
  readonly headers: ReadonlyMap<string, string>;
}

/** What the gateway knows of a request at a door, in addition to its chat form. */
export class RequestAtDoor {
  readonly door: Door;
  readonly asked: Asked;
  readonly hasToolMedia: boolean;
  /** The client's headers that are sent with its body. */
  readonly headers: ReadonlyMap<string, string>;
  readonly #mayPass: boolean;
  #body: DoorBody | undefined;

  constructor(door: Door, { asked, mayPass, hasToolMedia, headers }: DoorFacts, body: DoorBody) {
    this.door = door;
    this.asked = asked;
    this.hasToolMedia = hasToolMedia;
    this.headers = headers;
    this.#mayPass = mayPass;
    this.#body = body;
  }

  /** True if this target gets the client's own body, and its response is passed on. */
  passesTo({
    api,
    shaping = [],
  }: {
    readonly api: ProviderApi;
    readonly shaping?: readonly RequestShaping[] | undefined;
  }) {
    return this.#mayPass && api === this.door.providerApi && !changesRoles(shaping);
  }

  /** True if the client asks for reasoning in a body that this target gets. */
  asksToReason(target: Parameters<RequestAtDoor['passesTo']>[0]): boolean {
    return this.door.asksToReason?.(this.asked) === true && this.passesTo(target);
  }

  /**
   * The client's body, in pieces, for a target to which it is passed on. Members are copied byte
   * for byte, except those that the gateway sets or the target's shaping changes.
   */
  passedBody(sent: PassedFields, shaping: readonly RequestShaping[], hasTools: boolean): readonly Buffer[] {
    if (this.#body === undefined) throw new Error('the body of a request is free already');
    const { bytes, fields } = this.#body;
    const members = new Map<string, BodyField | string>();
    for (const field of fields) members.set(field.name, field);
    for (const [name, value] of Object.entries(this.door.passedEdits(sent))) {
      if (value === undefined) members.delete(name);
      else members.set(name, value);
    }
    const pieces: Buffer[] = [];
    for (const [name, value] of shapeMembers(members, shaping, hasTools, (json) => json)) {
      pieces.push(Buffer.from(`${pieces.length === 0 ? '{' : ','}${JSON.stringify(name)}:`));
      pieces.push(typeof value === 'string' ? Buffer.from(value) : bytes.subarray(value.valueStart, value.end));
    }
    return [...pieces, Buffer.from('}')];
  }

  /** Drops the client's body. `isFree`: nobody reads it, so its memory is freed at once. */
  drop(isFree: boolean): void {
    if (isFree && this.#body !== undefined) freeMemory(this.#body.bytes);
    this.#body = undefined;
  }
}
