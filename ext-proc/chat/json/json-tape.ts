import { OPEN_ARRAY, OPEN_OBJECT, QUOTE, SPACE } from './json-bytes.ts';

/**
 * Positions of all keys and values of a text, in their order. The scan writes them, so that no
 * later reader walks through the bytes again. An entry has three numbers: start, end, and a third,
 * which is the flags of a key or string, or the place on the tape behind the contents of an array
 * or object.
 */
export class JsonTape {
  slots = new Int32Array(ENTRY * 256);
  length = 0;
  /** True if a key is the name of a cache marker (json-words.ts). */
  hasCacheMarkers = false;

  /** Prepares the tape for another text. */
  clear(): void {
    this.length = 0;
    this.hasCacheMarkers = false;
  }

  /** Adds an entry. Returns its place on the tape. */
  add(start: number, end: number, third: number): number {
    const place = this.length;
    if (place + ENTRY > this.slots.length) this.#grow();
    this.slots[place] = start;
    this.slots[place + 1] = end;
    this.slots[place + 2] = third;
    this.length = place + ENTRY;
    return place;
  }

  /**
   * Overwrites every replaced member with spaces, from its key to the next one. The text stays
   * valid, and all positions stay right. This is done in place, because a copy of a large body
   * would be held as long as the body. The key's entry gets the place behind the member, which the
   * bytes no longer show.
   */
  blankReplaced(bytes: Buffer): void {
    const { slots } = this;
    for (let place = 0; place < this.length; ) {
      const isReplacedKey = bytes[slots[place] as number] === QUOTE && ((slots[place + 2] as number) & REPLACED) !== 0;
      if (!isReplacedKey) {
        place += ENTRY;
        continue;
      }
      // There always is a next member: at least the one that replaces this one.
      const next = this.behind(bytes, place + ENTRY);
      bytes.fill(SPACE, slots[place], slots[next]);
      slots[place + 1] = next;
      place = next;
    }
  }

  /** The place behind the member whose key is at `place`, if it is replaced and blanked out. */
  behindReplaced(place: number): number | undefined {
    return ((this.slots[place + 2] as number) & REPLACED) === 0 ? undefined : this.slots[place + 1];
  }

  /** The place behind the value at `place`, with all that it contains. */
  behind(bytes: Uint8Array, place: number): number {
    const first = bytes[this.slots[place] as number];
    return first === OPEN_OBJECT || first === OPEN_ARRAY ? (this.slots[place + 2] as number) : place + ENTRY;
  }

  #grow(): void {
    const larger = new Int32Array(this.slots.length * 2);
    larger.set(this.slots);
    this.slots = larger;
  }
}

export const ENTRY = 3;

/** Flags of a key or a string. */
export const ESCAPED = 1;
/** Set if a later member of the object has the same key. */
export const REPLACED = 2;
