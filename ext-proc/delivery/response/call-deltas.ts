import { isObject, type JsonObject } from '#core/json-object.ts';

/** A tool call of a stream. */
interface Call {
  /** The provider's index, if it gives one. Several calls may have the same. */
  readonly givenIndex: number | undefined;
  id: string;
  name: string;
  /** The client's index. `undefined`: the client has seen nothing of the call. */
  index: number | undefined;
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
  /** The deltas so far of calls that have no name. */
  readonly #held = new Map<Call, JsonObject[]>();
  #last: Call | undefined;
  #begun = 0;
  #hasEnded = false;

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
    call.name = said.name;
    const deltas = this.#held.get(call) ?? [];
    deltas.push(delta);
    if (call.name !== '' || !mayHold || this.#hasEnded) return this.#begin(call, deltas);
    this.#held.set(call, deltas);
    return undefined;
  }

  /** Calls that are held back, for a choice that ends. None is held back later. */
  release(): JsonObject[] {
    this.#hasEnded = true;
    return [...this.#held].map(([call, deltas]) => this.#begin(call, deltas));
  }

  #begin(call: Call, deltas: readonly JsonObject[]): JsonObject {
    const index = this.#begun++;
    call.index = index;
    this.#held.delete(call);
    const written = joined(deltas);
    return written.index === index ? written : { ...written, index };
  }

  #callOf(said: Said): Call {
    const { givenIndex, id } = said;
    const ofId = this.#byId.get(id);
    const hasIndexOf = givenIndex === undefined || ofId?.givenIndex === givenIndex;
    const latest = givenIndex === undefined ? this.#last : this.#latestAt.get(givenIndex);
    let call = ofId !== undefined && hasIndexOf ? ofId : latest;
    if (call === undefined || isOther(said, call)) {
      call = { givenIndex, id: '', name: '', index: undefined };
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
  if (name !== call.name) return true;
  return id !== '' && call.id !== '' ? id !== call.id : givenIndex === undefined;
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

/** The deltas of a call as one. No delta is copied more than once, because there may be many. */
function joined(deltas: readonly JsonObject[]): JsonObject {
  const given = deltas.map(withTextArguments);
  const [first = {}, ...others] = given;
  if (others.length === 0) return first;
  const whole = merged(given);
  const kind = kindOf(whole);
  const input = kind === 'custom' ? 'input' : 'arguments';
  const texts = given.map((delta) => calledBy(delta)[input]).filter((text) => typeof text === 'string');
  const id = given.find((delta) => delta.id)?.id ?? whole.id;
  const called = { ...merged(given.map(calledBy)), [input]: texts.join('') };
  return { ...whole, ...(id === undefined ? {} : { id }), [kind]: called };
}

/** Not `Object.assign`, which reads a member `__proto__` as a prototype. */
function merged(objects: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(objects.flatMap((object) => Object.entries(object)));
}

/** Ollama's own form has arguments as an object; some bridges pass it on. */
export function withTextArguments(call: JsonObject): JsonObject {
  const called = call.function;
  if (!isObject(called) || !isObject(called.arguments)) return call;
  return { ...call, function: { ...called, arguments: JSON.stringify(called.arguments) } };
}

function calledBy(delta: JsonObject): JsonObject {
  const called = delta[kindOf(delta)];
  return isObject(called) ? called : NOTHING;
}

const NOTHING: JsonObject = {};

function kindOf({ custom }: JsonObject): 'custom' | 'function' {
  return isObject(custom) ? 'custom' : 'function';
}
