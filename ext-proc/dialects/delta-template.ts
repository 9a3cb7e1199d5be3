import type { FurtherDelta } from './dialect.ts';
import { textEnd } from './json-text.ts';

const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;

/** Members of Responses. Servers that copy its form may add them to events of other APIs. */
const PADDING = 'obfuscation';
const NUMBER = 'sequence_number';

/** A member that differs from event to event. */
interface Slot {
  readonly name: string;
  readonly isText: boolean;
  /** Text from the end of the previous slot, or from the start, to this one. */
  readonly before: string;
}

/**
 * Recognizes an event that differs from the learnt one only in its delta, its padding and its
 * number, as nearly all events of a stream do. It is read without parsing: comparing takes 0.3 us,
 * parsing 0.8.
 *
 * The result is exact: a parsed event keeps its structure when one of its strings is replaced by
 * another valid one, or a number by other digits.
 */
export class DeltaTemplate {
  readonly #names: ReadonlyMap<string, 'text' | 'number'>;
  readonly #delta: string;
  #slots: readonly Slot[] = [];
  #after = '';
  #end = 0;

  /** Delta of the last event that matched, as JSON without the quotes. */
  delta = '';
  /** Padding of that event, in the same form. `undefined`: such events have none. */
  padding: string | undefined;

  /** `delta`: the name of the member with the text. */
  constructor(delta: string) {
    this.#delta = delta;
    this.#names = new Map([
      [delta, 'text'],
      [PADDING, 'text'],
      [NUMBER, 'number'],
    ]);
  }

  /** Learns a parsed event with this delta, if the event is written in the usual way. */
  learn(data: string, delta: string): void {
    this.#slots = [];
    const found: { name: string; isText: boolean; start: number; end: number }[] = [];
    for (const [name, kind] of this.#names) {
      const isText = kind === 'text';
      const member = isText ? `"${name}":"` : `"${name}":`;
      const at = data.indexOf(member);
      if (at === -1) continue;
      if (data.indexOf(`"${name}"`, at + 1) !== -1 || data.charCodeAt(at - 1) === BACKSLASH) return;
      const start = at + member.length;
      if (!(isText ? this.#readText(data, start) : this.#readNumber(data, start))) return;
      found.push({ name, isText, start, end: this.#end });
    }
    const known = found.find(({ name }) => name === this.#delta);
    if (known === undefined || `"${data.slice(known.start, known.end)}"` !== JSON.stringify(delta)) return;
    found.sort((one, other) => one.start - other.start);
    this.#slots = found.map(({ name, isText, start }, at) => ({
      ...{ name, isText },
      before: detached(data.slice(found[at - 1]?.end ?? 0, start)),
    }));
    this.#after = detached(data.slice(found.at(-1)?.end));
    this.padding = undefined;
  }

  match(data: string): boolean {
    return this.#matchAt(data, 0) === data.length;
  }

  /** The end of the matching event at this position of a text. -1: the text does not match. */
  #matchAt(data: string, from: number): number {
    if (this.#slots.length === 0) return -1;
    this.#end = from;
    for (const { name, isText, before } of this.#slots) {
      const start = this.#end + before.length;
      // Comparing slices takes 0.04 us where startsWith takes 0.7.
      if (data.slice(this.#end, start) !== before) return -1;
      if (!(isText ? this.#readText(data, start) : this.#readNumber(data, start))) return -1;
      if (name === this.#delta) this.delta = data.slice(start, this.#end);
      else if (name === PADDING) this.padding = data.slice(start, this.#end);
    }
    const end = this.#end + this.#after.length;
    return data.slice(this.#end, end) === this.#after ? end : -1;
  }

  further(text: string, start: number): FurtherDelta | undefined {
    const end = this.#matchAt(text, start);
    return end === -1 ? undefined : { end, delta: this.delta, padding: this.padding };
  }

  /** Reads to the closing quote of a JSON string. False: the string is invalid. */
  #readText(data: string, start: number): boolean {
    this.#end = textEnd(data, start);
    return this.#end !== -1;
  }

  #readNumber(data: string, start: number): boolean {
    let at = start;
    while (data.charCodeAt(at) >= ZERO && data.charCodeAt(at) <= NINE) at++;
    this.#end = at;
    return at > start && (at === start + 1 || data.charCodeAt(start) !== ZERO);
  }
}

/** Copies a text. A slice would keep the piece of the stream in memory from which it was cut. */
function detached(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
