import { randomInt } from 'node:crypto';
import { type JsonTape, REPLACED } from './json-tape.ts';
import { unescapeInto } from './json-text.ts';
import { isCacheMarker } from './json-words.ts';

/**
 * Finds duplicate keys while a text is scanned, and marks on the tape every member that a later one
 * replaces. It keeps the keys of all open objects, and takes linear time. A key with escapes is
 * decoded once. It also notes whether there are cache markers.
 */
export class KeyRegister {
  readonly #bytes: Uint8Array;
  readonly #tape: JsonTape;
  readonly #memory: KeyMemory;
  #top = 0;
  /** End of the decoded texts of open objects' keys. */
  #decodedEnd = 0;
  #hasDuplicates = false;

  constructor(bytes: Uint8Array, tape: JsonTape, memory: KeyMemory) {
    this.#bytes = bytes;
    this.#tape = tape;
    this.#memory = memory;
  }

  get hasDuplicates(): boolean {
    return this.#hasDuplicates;
  }

  /** Begins an object. Returns the mark that closes it. */
  open(): number {
    return this.#top;
  }

  /** Adds a key: its place on the tape, and its position in the text without quotes. */
  add(place: number, start: number, end: number, escaped: boolean): void {
    if (isCacheMarker(this.#bytes, start, end, escaped)) this.#tape.hasCacheMarkers = true;
    const memory = this.#memory;
    memory.makeRoom(this.#top);
    const { entries } = memory;
    entries[this.#top + PLACE] = place;
    if (escaped) {
      const at = this.#decodedEnd;
      const decoded = memory.makeRoomForText(at, end - start);
      const length = unescapeInto(decoded, at, this.#bytes, start, end) - at;
      this.#decodedEnd = at + length;
      entries[this.#top + TEXT] = -1 - at;
      entries[this.#top + LENGTH] = length;
      entries[this.#top + HASH] = hashOf(decoded, at, at + length);
    } else {
      entries[this.#top + TEXT] = start;
      entries[this.#top + LENGTH] = end - start;
      entries[this.#top + HASH] = hashOf(this.#bytes, start, end);
    }
    this.#top += ENTRY;
  }

  /** Ends an object and marks its replaced members. Returns the number of its keys. */
  close(first: number): number {
    const count = (this.#top - first) / ENTRY;
    if (count > SMALL_OBJECT) this.#markByTable(first, count);
    else if (count > 1) this.#markByPairs(first);
    this.#top = first;
    if (first === 0) this.#decodedEnd = 0;
    return count;
  }

  #markByPairs(first: number): void {
    const { entries } = this.#memory;
    for (let entry = first; entry < this.#top; entry += ENTRY) {
      for (let later = entry + ENTRY; later < this.#top; later += ENTRY) {
        if (entries[entry + HASH] !== entries[later + HASH] || !this.#same(entry, later)) continue;
        this.#mark(entry);
        break;
      }
    }
  }

  /** Goes from the last key to the first: a key that is in the table already is replaced. */
  #markByTable(first: number, count: number): void {
    const slots = 2 ** Math.ceil(Math.log2(count * 2));
    const table = this.#memory.emptyTable(slots);
    const { entries } = this.#memory;
    for (let entry = this.#top - ENTRY; entry >= first; entry -= ENTRY) {
      let slot = (entries[entry + HASH] as number) & (slots - 1);
      while (table[slot] !== 0 && !this.#same((table[slot] as number) - 1, entry)) slot = (slot + 1) & (slots - 1);
      if (table[slot] === 0) table[slot] = entry + 1;
      else this.#mark(entry);
    }
  }

  #mark(entry: number): void {
    const flags = (this.#memory.entries[entry + PLACE] as number) + 2;
    this.#tape.slots[flags] = (this.#tape.slots[flags] as number) | REPLACED;
    this.#hasDuplicates = true;
  }

  #same(a: number, b: number): boolean {
    const { entries } = this.#memory;
    const length = entries[a + LENGTH] as number;
    if (entries[a + HASH] !== entries[b + HASH] || length !== entries[b + LENGTH]) return false;
    const [textOfA, startOfA] = this.#textOf(a);
    const [textOfB, startOfB] = this.#textOf(b);
    for (let i = 0; i < length; i++) {
      if (textOfA[startOfA + i] !== textOfB[startOfB + i]) return false;
    }
    return true;
  }

  #textOf(entry: number): readonly [text: Uint8Array, start: number] {
    const text = this.#memory.entries[entry + TEXT] as number;
    return text < 0 ? [this.#memory.decoded, -1 - text] : [this.#bytes, text];
  }
}

/** Memory of a register. It can be used for one text after the other. */
export class KeyMemory {
  /** Entries of the keys of open objects. */
  entries = new Int32Array(ENTRY * 256);
  decoded = new Uint8Array(0);
  #table = new Int32Array(64);

  makeRoom(top: number): void {
    if (top + ENTRY <= this.entries.length) return;
    const larger = new Int32Array(this.entries.length * 2);
    larger.set(this.entries);
    this.entries = larger;
  }

  /** A decoded text is never longer than the text with its escapes. */
  makeRoomForText(end: number, bytes: number): Uint8Array {
    if (end + bytes > this.decoded.length) {
      const larger = new Uint8Array(Math.max(2 * this.decoded.length, end + bytes));
      larger.set(this.decoded.subarray(0, end));
      this.decoded = larger;
    }
    return this.decoded;
  }

  /** `slots` is a power of two. */
  emptyTable(slots: number): Int32Array {
    if (this.#table.length < slots) this.#table = new Int32Array(slots);
    return this.#table.fill(0, 0, slots);
  }
}

/**
 * An entry: the key's place on the tape, its hash, the start of its text (negative: among the
 * decoded texts), and the length of that text.
 */
const PLACE = 0;
const HASH = 1;
const TEXT = 2;
const LENGTH = 3;
const ENTRY = 4;

/** Up to this many keys are compared pair by pair, which is faster than a table. */
const SMALL_OBJECT = 8;

/** Secret, so that clients cannot choose keys that collide. Results do not depend on it. */
const HASH_SEED = randomInt(2 ** 31);

/** Mixes after each byte: collisions of a polynomial would not depend on the seed. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = HASH_SEED;
  for (let pos = start; pos < end; pos++) {
    hash = Math.imul(hash ^ (bytes[pos] as number), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return hash;
}
