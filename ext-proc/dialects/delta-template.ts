const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const ZERO = 0x30;
const NINE = 0x39;

/** Escapes of JSON but `\u`, by the character after the backslash. */
const ESCAPED = '"\\/bfnrt';
const CODE_POINT = /^[0-9a-fA-F]{4}$/;

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
  readonly #padding: string;
  #slots: readonly Slot[] = [];
  #after = '';
  #end = 0;

  /** Delta of the event that matched last, as it stands in JSON between its quotes. */
  delta = '';
  /** Padding, as the delta; `undefined`: such events have none. */
  padding: string | undefined;

  /** Names of the members: of the text that goes on, the random padding, and the number. */
  constructor(delta: string, padding: string, number: string) {
    this.#delta = delta;
    this.#padding = padding;
    this.#names = new Map([
      [delta, 'text'],
      [padding, 'text'],
      [number, 'number'],
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
    if (this.#slots.length === 0) return false;
    this.#end = 0;
    for (const { name, isText, before } of this.#slots) {
      const start = this.#end + before.length;
      // Comparing slices takes 0.04 us where startsWith takes 0.7.
      if (data.slice(this.#end, start) !== before) return false;
      if (!(isText ? this.#readText(data, start) : this.#readNumber(data, start))) return false;
      if (name === this.#delta) this.delta = data.slice(start, this.#end);
      else if (name === this.#padding) this.padding = data.slice(start, this.#end);
    }
    return data.slice(this.#end) === this.#after;
  }

  /** Reads to the closing quote of a text; false: it is none. */
  #readText(data: string, start: number): boolean {
    for (let at = start; at < data.length; at++) {
      const code = data.charCodeAt(at);
      if (code === QUOTE) {
        this.#end = at;
        return true;
      }
      if (code < 0x20) return false;
      if (code !== BACKSLASH) continue;
      const isCodePoint = data.charCodeAt(at + 1) === LETTER_U;
      if (isCodePoint ? !CODE_POINT.test(data.slice(at + 2, at + 6)) : !ESCAPED.includes(data.charAt(at + 1)))
        return false;
      at += isCodePoint ? 5 : 1;
    }
    return false;
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
