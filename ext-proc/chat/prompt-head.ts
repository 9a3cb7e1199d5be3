import { BACKSLASH, LETTER_U } from './json/json-bytes.ts';
import { escapedCodePoint, unescapeInto } from './json/json-text.ts';
import { type PromptRecord, TEXT } from './tokens/prompt-record.ts';
import { TextMeter } from './tokens/text-meter.ts';

export interface PromptHead {
  /** Copied out of the body. */
  readonly text: Buffer;
  /** About how many tokens the rest has. */
  readonly restTokens: number;
}

/** The beginning of the prompt's text, so many bytes of the body; the rest is measured. */
export function promptHead(bytes: Buffer, { pieces }: PromptRecord, mostBytes: number): PromptHead {
  const text = Buffer.alloc(mostBytes + pieces.length / 3);
  // The characters that normalization adds are not needed here.
  const rest = new TextMeter(true);
  let length = 0;
  let roomBytes = mostBytes;
  for (let at = 0; at < pieces.length; at += 3) {
    const [kind, start, end] = [pieces[at], pieces[at + 1] as number, pieces[at + 2] as number];
    let cut = start;
    if (roomBytes >= 0) {
      cut = end - start <= roomBytes ? end : wholeCharacters(bytes, start, roomBytes, kind === TEXT);
      roomBytes -= end - start;
      if (at > 0) text[length++] = LINE_END;
      length =
        kind === TEXT ? unescapeInto(text, length, bytes, start, cut) : length + bytes.copy(text, length, start, cut);
    }
    if (cut < end) rest.add(bytes, cut, end);
  }
  return { text: Buffer.from(text.subarray(0, length)), restTokens: Math.ceil(rest.estimatedTokens()) };
}

const LINE_END = 0x0a;

/**
 * The position after the last character that ends within so many bytes; an escape, or a pair of
 * them, is one.
 */
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
