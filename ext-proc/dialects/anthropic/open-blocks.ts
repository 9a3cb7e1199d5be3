import type { JsonObject } from '#core/json-object.ts';

/** A block of a streamed message that has begun and not ended. */
export class OpenBlock {
  /** The block as it began. If its beginning was omitted, only the type is known. */
  readonly begun: JsonObject;
  /** Index among the calls of the message. Absent: the block is not a call. */
  call?: number;
  /** True if some of the block was passed on. */
  isSent = false;
  signature: unknown;
  /** Thinking so far, for the entry of `reasoning_details`, which repeats all of it. */
  readonly kept = new KeptText();

  constructor(begun: JsonObject) {
    this.begun = begun;
  }
}

/** Most blocks that may be open at once. Usually it is one. */
const MOST_OPEN = 64;
/** Most thinking that is kept of one stream at a time, in characters of JSON. */
const MOST_KEPT = 4 * 1024 * 1024;

export class OpenBlocks {
  readonly #blocks = new Map<unknown, OpenBlock>();
  #keptCharacters = 0;
  #keeps = true;

  get keptCharacters(): number {
    return this.#keptCharacters;
  }

  /** True after a limit was exceeded: the stream must end with an error. */
  get isTooMuch(): boolean {
    return this.#blocks.size > MOST_OPEN || this.#keptCharacters > MOST_KEPT;
  }

  /** Keeps thinking of a block, given as JSON without the quotes. */
  keep(block: OpenBlock, json: string): void {
    if (!this.#keeps) return;
    block.kept.add(json);
    this.#keptCharacters += json.length;
  }

  /** Drops all kept thinking, and keeps none from now on. */
  forget(): void {
    this.#keeps = false;
    this.#keptCharacters = 0;
    for (const { kept } of this.#blocks.values()) kept.clear();
  }

  begin(index: unknown, begun: JsonObject): OpenBlock {
    const block = new OpenBlock(begun);
    this.#blocks.set(keyOf(index), block);
    return block;
  }

  at(index: unknown): OpenBlock | undefined {
    return this.#blocks.get(keyOf(index));
  }

  end(index: unknown): OpenBlock | undefined {
    const block = this.at(index);
    if (block !== undefined) this.#keptCharacters -= block.kept.length;
    this.#blocks.delete(keyOf(index));
    return block;
  }

  /** Ends all open blocks, in the order in which they began. */
  endAll(): OpenBlock[] {
    const all = [...this.#blocks.values()];
    this.#blocks.clear();
    this.#keptCharacters = 0;
    return all;
  }
}

/** Index of the only open block, for events without an index. */
const ONLY_BLOCK = 0;

function keyOf(index: unknown): number {
  return typeof index === 'number' ? index : ONLY_BLOCK;
}

const MOST_PIECES = 256;

/** Growing text. Its pieces are joined at times, because each keeps its whole event in memory. */
class KeptText {
  length = 0;
  readonly #joined: string[] = [];
  readonly #pieces: string[] = [];

  add(json: string): void {
    this.length += json.length;
    this.#pieces.push(json);
    if (this.#pieces.length === MOST_PIECES) this.#joined.push(this.#pieces.splice(0).join(''));
  }

  clear(): void {
    this.length = 0;
    this.#joined.length = 0;
    this.#pieces.length = 0;
  }

  text(): string {
    return JSON.parse(`"${this.#joined.join('')}${this.#pieces.join('')}"`);
  }
}
