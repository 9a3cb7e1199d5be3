/** Pieces that are held one by one keep the chunks alive that they were cut from, 20 times their size; joined ones do not. */
const PIECES_TO_JOIN = 256;

/** What a model has produced so far, in case it has to be counted. Bounded by the answer's own limit of bytes. */
export class ProducedText {
  readonly #joined: string[] = [];
  #pieces: string[] = [];

  add(piece: string): void {
    this.#pieces.push(piece);
    if (this.#pieces.length < PIECES_TO_JOIN) return;
    this.#joined.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  isEmpty(): boolean {
    return this.#joined.length === 0 && this.#pieces.length === 0;
  }

  whole(): string {
    return this.#joined.join('') + this.#pieces.join('');
  }
}
