import { isObject, type JsonObject } from '#core/json-object.ts';
import { callArguments } from '../../dialects/anthropic/call-input.ts';

/** A tool call of a stream. */
interface Call {
  /** The provider's index, if it gives one. Several calls may have the same. */
  readonly givenIndex: number | undefined;
  id: string;
  name: string;
  /** The client's index. `undefined`: the client has seen nothing of the call. */
  index: number | undefined;
  /** All of the call so far, while it has no name. */
  held: JsonObject | undefined;
}

/** What a delta says about its call. Empty texts count as absent. */
interface Said {
  readonly givenIndex: number | undefined;
  readonly id: string;
  readonly name: string;
}

/**
 * The tool calls of one choice of a stream, as all clients can read them: numbered in the order in
 * which they begin, with the name in the first delta, and name and id only there. Providers leave
 * out the index or give the same one to parallel calls, and send the name late, again or empty.
 */
export class CallDeltas {
  readonly #latestAt = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  readonly #held = new Set<Call>();
  #last: Call | undefined;
  #begun = 0;

  get holds(): boolean {
    return this.#held.size > 0;
  }

  /**
   * Returns a well-formed delta unchanged. `undefined`: it is held back, because its call has no
   * name yet. `mayHold`: false if there is no room for that.
   */
  repair(delta: JsonObject, mayHold: boolean): JsonObject | undefined {
    const said = saidBy(delta);
    const call = this.#callOf(said);
    const isLateId = call.id === '' && said.id !== '';
    if (isLateId) this.#name(call, said.id);
    if (call.index !== undefined) {
      const isLateName = call.name === '' && said.name !== '';
      call.name ||= said.name;
      return continued(delta, call.index, isLateId, isLateName);
    }
    const whole = call.held === undefined ? delta : joined(call.held, delta);
    call.name = said.name;
    if (call.name !== '' || !mayHold) return this.#begin(call, whole);
    call.held = whole;
    this.#held.add(call);
    return undefined;
  }

  /** Calls that are held back, for a choice that ends. */
  release(): JsonObject[] {
    return [...this.#held].map((call) => this.#begin(call, call.held ?? {}));
  }

  #begin(call: Call, whole: JsonObject): JsonObject {
    const index = this.#begun++;
    call.index = index;
    call.held = undefined;
    this.#held.delete(call);
    const written = withTextArguments(whole);
    return written.index === index ? written : { ...written, index };
  }

  #callOf(said: Said): Call {
    const { givenIndex, id } = said;
    const ofId = this.#byId.get(id);
    const hasIndexOf = givenIndex === undefined || ofId?.givenIndex === givenIndex;
    const latest = givenIndex === undefined ? this.#last : this.#latestAt.get(givenIndex);
    let call = ofId !== undefined && hasIndexOf ? ofId : latest;
    if (call === undefined || (call !== ofId && isOther(said, call))) {
      call = { givenIndex, id: '', name: '', index: undefined, held: undefined };
      if (givenIndex !== undefined) this.#latestAt.set(givenIndex, call);
    }
    this.#last = call;
    return call;
  }

  #name(call: Call, id: string): void {
    call.id = id;
    this.#byId.set(id, call);
  }
}

/**
 * True if a delta begins another call than the one at its index: it has a name, and name or id
 * differ. Some providers give each delta an id of its own, without a name. A name without index
 * and id is that of a whole call.
 */
function isOther({ givenIndex, id, name }: Said, call: Call): boolean {
  if (name === '' || call.name === '') return false;
  if (name !== call.name || (id !== '' && call.id !== '')) return true;
  return givenIndex === undefined;
}

function saidBy(delta: JsonObject): Said {
  const { name } = calledBy(delta);
  return {
    givenIndex: typeof delta.index === 'number' ? delta.index : undefined,
    id: typeof delta.id === 'string' ? delta.id : '',
    name: typeof name === 'string' ? name : '',
  };
}

/** Removes name and id, unless the call had none so far. */
function continued(delta: JsonObject, index: number, isLateId: boolean, isLateName: boolean): JsonObject {
  const written = withTextArguments(delta);
  const called = calledBy(written);
  const dropsId = typeof written.id === 'string' && !isLateId;
  const dropsName = typeof called.name === 'string' && !isLateName;
  if (written.index === index && !dropsId && !dropsName) return written;
  const { id, ...others } = written;
  const { name, ...more } = called;
  return {
    ...(dropsId ? others : written),
    ...(dropsName ? { [kindOf(written)]: more } : {}),
    index,
  };
}

/** Two deltas of a call without name as one. */
function joined(held: JsonObject, delta: JsonObject): JsonObject {
  const before = withTextArguments(held);
  const next = withTextArguments(delta);
  const kind = kindOf(next);
  const input = kind === 'custom' ? 'input' : 'arguments';
  const texts = [calledBy(before)[input], calledBy(next)[input]].filter((text) => typeof text === 'string');
  const id = before.id || next.id;
  const called = { ...calledBy(before), ...calledBy(next), [input]: texts.join('') };
  return { ...before, ...next, ...(id === undefined ? {} : { id }), [kind]: called };
}

/** Ollama's own form has arguments as an object; some bridges pass it on. */
export function withTextArguments(call: JsonObject): JsonObject {
  const called = call.function;
  if (!isObject(called) || !isObject(called.arguments)) return call;
  return { ...call, function: { ...called, arguments: callArguments({ input: called.arguments }) } };
}

function calledBy(delta: JsonObject): JsonObject {
  const called = delta[kindOf(delta)];
  return isObject(called) ? called : NOTHING;
}

const NOTHING: JsonObject = {};

function kindOf({ custom }: JsonObject): 'custom' | 'function' {
  return isObject(custom) ? 'custom' : 'function';
}
