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
  /** Text between the slot before and this one, or the start. */
  readonly before: string;
}

/**
 * Recognizes an event that differs from the one learnt in nothing but its delta, its padding and
 * its number, as nearly all of a stream do, and reads it without parsing: comparing takes 0.3 us,
 * parsing 0.8.
 *
 * It is exact: what was parsed once stays the same JSON when a text in it is replaced by another
 * valid one, or a number by digits.
 */
export class DeltaTemplate {
  readonly #names: ReadonlyMap<string, 'text' | 'number'>;
  readonly #delta: string;
  #slots: readonly Slot[] = [];
  #after = '';
  #end = 0;

  /** Delta of the event that matched last, as it stands in JSON between its quotes. */
  delta = '';
  /** Padding, as the delta; `undefined`: such events have none. */
  padding: string | undefined;

  /** Takes the name of the continued text. */
  constructor(delta: string) {
    this.#delta = delta;
    this.#names = new Map([
      [delta, 'text'],
      [PADDING, 'text'],
      [NUMBER, 'number'],
    ]);
  }

  /** Learns an event that was parsed, with this delta, if its members are written as usual. */
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

  /** The end of an event that begins at this position of a text; -1: none does that matches. */
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

  /** Reads to the closing quote of a text; false: it is none. */
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

/** A copy: a slice keeps the whole piece of the stream in memory that it was cut from. */
function detached(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
