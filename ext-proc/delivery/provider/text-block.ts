import { GrowingBytes } from '../../shared-budget/growing-bytes.ts';

const EMPTY_LINE = Buffer.from('\r\n\r\n');

/** Lines up to an empty one, from pieces cut anywhere: the head of an answer, or its trailers. */
export class TextBlock {
  readonly #maxBytes: number;
  readonly #kept = new GrowingBytes();
  /** The last block that was complete, without its empty line. */
  text: string | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The position after the block or of the piece's end, or -1: it is longer than the bound. */
  take(bytes: Buffer, at: number): number {
    this.text = undefined;
    const before = this.#kept.length;
    if (before === 0) {
      const end = bytes.indexOf(EMPTY_LINE, at);
      if (end !== -1) return this.#complete(bytes, at, end) ? end + EMPTY_LINE.length : -1;
    }
    this.#kept.append(bytes, at, bytes.length);
    const all = this.#kept.view();
    const end = all.indexOf(EMPTY_LINE, before < EMPTY_LINE.length ? 0 : before - EMPTY_LINE.length + 1);
    if (end === -1) return all.length > this.#maxBytes ? -1 : bytes.length;
    this.#kept.clear();
    return this.#complete(all, 0, end) ? at + end + EMPTY_LINE.length - before : -1;
  }

  #complete(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > this.#maxBytes) return false;
    this.text = bytes.toString('latin1', start, end);
    return true;
  }
}
