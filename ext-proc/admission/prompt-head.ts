import { BACKSLASH, LETTER_U } from './json-bytes.ts';
import { escapedCodePoint, unescapeText } from './json-text.ts';
import type { PromptSink } from './prompt-sink.ts';
import { TextMeter } from './text-meter.ts';

/** Collects the beginning of the prompt's text, so many bytes of the body, and measures the rest. */
export class PromptHead implements PromptSink {
  readonly #pieces: Buffer[] = [];
  readonly #rest: TextMeter;
  #roomBytes: number;
  #isFull = false;

  /** `isPlain`: as for TextMeter. */
  constructor(mostBytes: number, isPlain: boolean) {
    this.#roomBytes = mostBytes;
    this.#rest = new TextMeter(isPlain);
  }

  addText(bytes: Buffer, start: number, end: number): void {
    const cut = this.#cut(bytes, start, end, true);
    if (cut !== undefined) this.#pieces.push(Buffer.from(unescapeText(bytes, start, cut)));
  }

  addJson(bytes: Buffer, start: number, end: number): void {
    const cut = this.#cut(bytes, start, end, false);
    if (cut !== undefined) this.#pieces.push(Buffer.from(bytes.subarray(start, cut)));
  }

  addTool(bytes: Buffer, start: number, end: number): void {
    this.addJson(bytes, start, end);
  }

  addMessage(): void {}

  addPart(): void {}

  addToolCall(): void {}

  addImage(): void {}

  /** Copied out of the body. */
  text(): Buffer {
    return Buffer.concat(this.#pieces.flatMap((piece, at) => (at === 0 ? [piece] : [LINE_END, piece])));
  }

  /** About how many tokens the rest has. */
  restTokens(): number {
    return Math.ceil(this.#rest.estimatedTokens());
  }

  /** Up to where it is collected; `undefined`: not at all. */
  #cut(bytes: Buffer, start: number, end: number, isEscaped: boolean): number | undefined {
    if (this.#isFull) {
      this.#rest.add(bytes, start, end);
      return undefined;
    }
    this.#isFull = end - start > this.#roomBytes;
    this.#roomBytes -= end - start;
    if (!this.#isFull) return end;
    const cut = wholeCharacters(bytes, start, this.#roomBytes + end - start, isEscaped);
    this.#rest.add(bytes, cut, end);
    return cut;
  }
}

const LINE_END = Buffer.from('\n');

/** The position after the last character that ends within so many bytes; an escape, or a pair of them, is one. */
function wholeCharacters(bytes: Buffer, start: number, mostBytes: number, isEscaped: boolean): number {
  const most = start + mostBytes;
  for (let pos = start; ; ) {
    const next = pos + (isEscaped && bytes[pos] === BACKSLASH ? escapeBytes(bytes, pos) : utf8Bytes(bytes[pos] ?? 0));
    if (next > most) return pos;
    pos = next;
  }
}

function escapeBytes(bytes: Buffer, pos: number): number {
  if (bytes[pos + 1] !== LETTER_U) return 2;
  return escapedCodePoint(bytes, pos) > 0xffff ? 12 : 6;
}

function utf8Bytes(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
