import { cutText } from '#core/cut-text.ts';

/** Most items and parts that are tracked for one stream. A response has some hundred at most. */
const MOST_FOLLOWED = 4096;
/** Ids are compared by their first characters. */
const LONGEST_ID = 200;
/** Key of the item of events that name none. */
const ONLY_ITEM = 0;

/** What was passed on of one item of a streamed response. */
export class SentItem {
  /** For each part of its content, or the input of a call: true if some of it was passed on. */
  readonly content: boolean[] = [];
  /** The same for the parts of its summary. */
  readonly summary: boolean[] = [];
  /** Index among the calls of the message. Absent: the item is no call, or it has not begun. */
  call?: number;
  isWhole = false;
  /** True for a message beside the answer (outcome.ts, `isAside`). */
  isAside = false;
  /** Phase of a message, until its first text is passed on. */
  phase?: string | undefined;
}

/**
 * Tracks which parts of a stream were passed on. The end of an item repeats the whole item. Parts
 * that had no deltas are passed on then, and no part twice. Text is not kept.
 */
export class SentParts {
  readonly #items = new Map<number | string, SentItem>();
  #followed = 0;
  #lastIndex: unknown;
  #last: SentItem | undefined;

  /** True after the limit was exceeded: the stream must end with an error. */
  get isTooMuch(): boolean {
    return this.#followed > MOST_FOLLOWED;
  }

  /** The item of an event. llama.cpp gives no `output_index`, others a new id in each event. */
  item(index: unknown, id: unknown): SentItem {
    if (this.#last !== undefined && typeof index === 'number' && index === this.#lastIndex) return this.#last;
    const name = typeof id === 'string' ? cutText(id, LONGEST_ID) : '';
    const key = typeof index === 'number' ? index : name === '' ? ONLY_ITEM : name;
    const item = this.#items.get(key) ?? this.#items.get(name) ?? this.#added(key, name);
    this.#lastIndex = index;
    this.#last = item;
    return item;
  }

  #added(key: number | string, name: string): SentItem {
    const item = new SentItem();
    this.#followed++;
    if (key !== name) this.#items.set(key, item);
    if (name !== '') this.#items.set(name, item);
    return item;
  }

  /** Notes that some of a part was passed on. */
  mark(parts: boolean[], part: unknown): void {
    const index = typeof part === 'number' && Number.isInteger(part) && part >= 0 ? part : 0;
    if (parts[index] === true) return;
    this.#followed += Math.max(0, index + 1 - parts.length);
    if (this.isTooMuch) return;
    while (parts.length < index) parts.push(false);
    parts[index] = true;
  }
}
