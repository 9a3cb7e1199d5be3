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
 * which they begin, with id, type and name in the first delta, and only there. Providers leave out
 * the index or give the same one to parallel calls, and send the name late, again or empty.
 */
export class CallDeltas {
  readonly #generationId: string;
  readonly #latestAt = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  /** The deltas so far of calls that have no name. */
  readonly #held = new Map<Call, JsonObject[]>();
  #last: Call | undefined;
  #begun = 0;
  #hasEnded = false;

  constructor(generationId: string) {
    this.#generationId = generationId;
  }

  /**
   * Returns a well-formed delta unchanged. `undefined`: it is held back, because its call has no
   * name yet. `mayHold`: false if there is no room for that.
   */
  repair(given: JsonObject, mayHold: boolean): JsonObject | undefined {
    const delta = withTextInput(given, false);
    const said = saidBy(delta);
    const call = this.#callOf(said);
    if (call.id === '' && said.id !== '') this.#name(call, said.id);
    if (call.index !== undefined) {
      const isLateName = call.name === '' && said.name !== '';
      call.name ||= said.name;
      return continued(delta, call.index, isLateName);
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
    const written = identified(joined(deltas), call.id || madeId(this.#generationId, index));
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

/** Removes name, id and type, unless the call had no name so far. */
function continued(delta: JsonObject, index: number, isLateName: boolean): JsonObject {
  const called = calledBy(delta);
  const dropsName = typeof called.name === 'string' && !isLateName;
  const dropsType = delta.type !== undefined && !isText(delta.type);
  if (delta.index === index && typeof delta.id !== 'string' && !dropsName && !dropsType) return delta;
  const { id, type, ...others } = delta;
  const { name, ...more } = called;
  return { ...others, ...(dropsName ? { [kindOf(delta)]: more } : {}), index };
}

/** The deltas of a call as one. No delta is copied more than once, because there may be many. */
function joined(deltas: readonly JsonObject[]): JsonObject {
  const [first = {}, ...others] = deltas;
  if (others.length === 0) return first;
  const whole = merged(deltas);
  const kind = kindOf(whole);
  const { member } = INPUTS[kind];
  const texts = deltas.map((delta) => calledBy(delta)[member]).filter(isText);
  return { ...whole, [kind]: { ...merged(deltas.map(calledBy)), [member]: texts.join('') } };
}

/** Not `Object.assign`, which reads a member `__proto__` as a prototype. */
function merged(objects: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(objects.flatMap((object) => Object.entries(object)));
}

/** A call of a whole response, as all clients can read it. `index`: among those of its choice. */
export function wholeCall(call: JsonObject, generationId: string, index: number): JsonObject {
  return identified(withTextInput(call, true), isText(call.id) ? call.id : madeId(generationId, index));
}

/** Adds the type, without which Mistral sends calls. */
function identified(call: JsonObject, id: string): JsonObject {
  const type = isText(call.type) ? call.type : kindOf(call);
  return call.id === id && call.type === type ? call : { ...call, id, type };
}

function madeId(generationId: string, index: number): string {
  return `call_${generationId}_${index}`;
}

const INPUTS = { function: { member: 'arguments', none: '{}' }, custom: { member: 'input', none: '' } } as const;

/** Ollama's own form has an object, and some bridges pass it on. */
function withTextInput(call: JsonObject, isWhole: boolean): JsonObject {
  const kind = kindOf(call);
  const called = call[kind];
  const { member, none } = INPUTS[kind];
  if (!isObject(called) || typeof called[member] === 'string') return call;
  const input = called[member] ?? (isWhole ? none : '');
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  return { ...call, [kind]: { ...called, [member]: text } };
}

function calledBy(delta: JsonObject): JsonObject {
  const called = delta[kindOf(delta)];
  return isObject(called) ? called : NOTHING;
}

const NOTHING: JsonObject = {};

function kindOf({ custom }: JsonObject): 'custom' | 'function' {
  return isObject(custom) ? 'custom' : 'function';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
