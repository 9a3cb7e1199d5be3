import { randomInt } from 'node:crypto';
import { SPACE } from './json-bytes.ts';
import { unescapeText } from './json-text.ts';

/** For as many keys as most texts have open at once: a text is scanned in one go, so that one place does for all. */
const SHARED_STACK = new Int32Array(3 * 256);

/**
 * Notes the keys of objects while a text is scanned, and blanks out every member that a later one with the same key replaces: from its
 * key to the next key, which keeps the text valid and all positions in place. Linear in the number of keys; the keys of open objects
 * stand on one stack.
 */
export class KeyRegister {
  readonly #bytes: Buffer;
  /** A copy of the text, made when the first duplicate is found. */
  #clean: Buffer | undefined;
  /** Per key: start, end (negative when it contains escapes), hash. */
  #stack = SHARED_STACK;
  #top = 0;
  #table: Int32Array | undefined;
  #outermost: readonly number[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Begins an object; what it returns closes it. */
  open(): number {
    return this.#top;
  }

  /** A key with its quotes. */
  add(start: number, end: number, escaped: boolean): void {
    if (this.#top + 3 > this.#stack.length) this.#grow();
    this.#stack[this.#top] = start;
    this.#stack[this.#top + 1] = escaped ? -end : end;
    this.#stack[this.#top + 2] = escaped
      ? hashOf(unescapeText(this.#bytes, start + 1, end - 1))
      : hashOf(this.#bytes, start + 1, end - 1);
    this.#top += 3;
  }

  close(first: number): void {
    const count = (this.#top - first) / 3;
    if (count > SMALL_OBJECT) this.#blankByTable(first, count);
    else if (count > 1) this.#blankByPairs(first);
    if (first === 0) this.#outermost = this.#starts();
    this.#top = first;
  }

  withoutDuplicates(): Buffer {
    return this.#clean ?? this.#bytes;
  }

  outermost(): readonly number[] {
    return this.#outermost;
  }

  #starts(): readonly number[] {
    const starts: number[] = [];
    for (let entry = 0; entry < this.#top; entry += 3) starts.push(this.#stack[entry] as number);
    return starts;
  }

  #blankByPairs(first: number): void {
    const stack = this.#stack;
    for (let entry = first; entry < this.#top; entry += 3) {
      for (let later = entry + 3; later < this.#top; later += 3) {
        if (stack[entry + 2] !== stack[later + 2] || !this.#same(entry, later)) continue;
        this.#blank(entry);
        break;
      }
    }
  }

  /** From the last key to the first: a key that is in the table already is replaced by a later one. */
  #blankByTable(first: number, count: number): void {
    const slots = 2 ** Math.ceil(Math.log2(count * 2));
    if (this.#table === undefined || this.#table.length < slots) this.#table = new Int32Array(slots);
    const table = this.#table.fill(0, 0, slots);
    for (let entry = this.#top - 3; entry >= first; entry -= 3) {
      let slot = (this.#stack[entry + 2] as number) & (slots - 1);
      while (table[slot] !== 0 && !this.#same((table[slot] as number) - 1, entry)) slot = (slot + 1) & (slots - 1);
      if (table[slot] === 0) table[slot] = entry + 1;
      else this.#blank(entry);
    }
  }

  #blank(entry: number): void {
    this.#clean ??= Buffer.from(this.#bytes);
    // A member that is replaced always has a next one: the one that replaces it, if no other.
    const end = this.#stack[entry + 3] as number;
    for (let pos = this.#stack[entry] as number; pos < end; pos++) this.#clean[pos] = SPACE;
  }

  #same(a: number, b: number): boolean {
    const stack = this.#stack;
    if (stack[a + 2] !== stack[b + 2]) return false;
    const startA = stack[a] as number;
    const endA = stack[a + 1] as number;
    const startB = stack[b] as number;
    const endB = stack[b + 1] as number;
    if (endA > 0 && endB > 0) return sameBytes(this.#bytes, startA, startB, endA - startA, endB - startB);
    const textA = unescapeText(this.#bytes, startA + 1, Math.abs(endA) - 1);
    return Buffer.compare(textA, unescapeText(this.#bytes, startB + 1, Math.abs(endB) - 1)) === 0;
  }

  #grow(): void {
    const larger = new Int32Array(this.#stack.length * 2);
    larger.set(this.#stack);
    this.#stack = larger;
  }
}

/** Up to this many keys are compared pair by pair, which is faster than a table. */
const SMALL_OBJECT = 8;

function sameBytes(bytes: Buffer, startA: number, startB: number, lengthA: number, lengthB: number): boolean {
  if (lengthA !== lengthB) return false;
  for (let i = 0; i < lengthA; i++) {
    if (bytes[startA + i] !== bytes[startB + i]) return false;
  }
  return true;
}

/** Unpredictable, so that nobody can choose keys that collide; answers do not depend on it. */
const HASH_SEED = randomInt(2 ** 31);

/** Mixing after each byte keeps it from being a polynomial, whose collisions would not depend on the seed. */
function hashOf(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let hash = HASH_SEED;
  for (let pos = start; pos < end; pos++) {
    hash = Math.imul(hash ^ (bytes[pos] as number), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return hash;
}
