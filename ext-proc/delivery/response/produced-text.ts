/** This many pieces are joined, because single ones keep alive chunks 20 times as large. */
const PIECES_TO_JOIN = 256;

/**
 * Most text that is kept, in UTF-16 units: some 32,000 tokens. The rest of a longer response is
 * only measured, and is assumed to have as many tokens per byte as the kept part. Without this
 * bound 100 streams of 50 MB held 480 MB of text for a count that is hardly ever needed.
 */
export const KEPT_CHARACTERS = 128 * 1024;

/** Most characters that `latest` returns. */
const LATEST_CHARACTERS = 1024;

/** Size of text that is not kept. */
export interface MeasuredText {
  readonly bytes: number;
  /** In UTF-16 units. */
  readonly characters: number;
}

/** Output of a model so far, in case it has to be counted. */
export class ProducedText {
  readonly #joined: string[] = [];
  #pieces: string[] = [];
  #keptCharacters = 0;
  #measuredBytes = 0;
  #characters = 0;

  add(piece: string): void {
    this.#characters += piece.length;
    if (this.#keptCharacters >= KEPT_CHARACTERS) {
      this.#measuredBytes += Buffer.byteLength(piece);
      return;
    }
    const room = KEPT_CHARACTERS - this.#keptCharacters;
    if (piece.length > room) this.#measuredBytes += Buffer.byteLength(piece) - Buffer.byteLength(piece.slice(0, room));
    const kept = piece.length > room ? piece.slice(0, room) : piece;
    this.#keptCharacters += kept.length;
    this.#pieces.push(kept);
    if (this.#pieces.length < PIECES_TO_JOIN && this.#keptCharacters < KEPT_CHARACTERS) return;
    this.#joined.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  /** Adds text whose size alone is known, from a response with more text than is kept. */
  addMeasured({ bytes, characters }: MeasuredText): void {
    this.#measuredBytes += bytes;
    this.#characters += characters;
  }

  isEmpty(): boolean {
    return this.#keptCharacters === 0;
  }

  /** Length of the whole output, in UTF-16 units. */
  get characters(): number {
    return this.#characters;
  }

  /** Last characters of the kept text, at most this many. Fewer soon after pieces were joined. */
  latest(characters: number): string {
    const length = characters < LATEST_CHARACTERS ? characters : LATEST_CHARACTERS;
    if (length === 0) return '';
    if (this.#pieces.length === 0) return (this.#joined.at(-1) ?? '').slice(-length);
    let first = this.#pieces.length;
    for (let found = 0; found < length && first > 0; ) found += (this.#pieces[--first] as string).length;
    return this.#pieces.slice(first).join('').slice(-length);
  }

  /** Text to be counted. */
  kept(): string {
    return this.#joined.join('') + this.#pieces.join('');
  }

  /** Extrapolates the tokens of the whole output from those of the kept text. */
  tokensOfAll(keptTokens: number): number {
    if (this.#measuredBytes === 0) return keptTokens;
    return Math.ceil(keptTokens * (1 + this.#measuredBytes / Buffer.byteLength(this.kept())));
  }
}
