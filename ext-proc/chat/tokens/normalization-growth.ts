import { BACKSLASH, LETTER_U } from '../json/json-bytes.ts';
import { escapedCodePoint } from '../json/json-text.ts';

/**
 * Bounds the growth of a text, in bytes of UTF-8, when a tokenizer normalizes it first (Qwen's to
 * NFC, SentencePiece to NFKC). U+1D160 has four bytes, twelve after NFC; U+FDFA has three, 33 after
 * NFKC. Most characters do not grow. The text stands in a JSON string. Every escape in it is whole,
 * except where a long text is measured in blocks.
 *
 * The growth of a text is at most the sum over its characters, because composition only makes text
 * shorter. One exception: a composed letter such as "ä" stays in pieces if the mark behind it
 * (U+0323) belongs before its own mark. So its growth in pieces is added where a mark follows.
 * normalization-growth.test.ts compares the bound with String.normalize, for all code points and
 * random text.
 */
export class NormalizationGrowth {
  bytes = 0;
  /** Further growth of the last character in pieces, added if a mark follows. */
  #inPieces = 0;

  /** Reads a part of a text. Returns the position behind its last character before `end`. */
  read(bytes: Uint8Array, start: number, end: number): number {
    let growth = 0;
    let inPieces = this.#inPieces;
    let pos = start;
    while (pos < end) {
      const byte = bytes[pos] as number;
      let point = byte;
      if (byte >= 0x80) {
        const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        point = byte & (0x7f >> length);
        for (let i = 1; i < length; i++) point = (point << 6) | ((bytes[pos + i] as number) & 0x3f);
        pos += length;
      } else if (byte !== BACKSLASH) {
        pos++;
      } else if (bytes[pos + 1] === LETTER_U) {
        point = escapedCodePoint(bytes, pos);
        pos += point > 0xffff ? 12 : 6;
      } else {
        pos += 2;
      }
      if (point < 0x80) {
        inPieces = 0;
        continue;
      }
      const facts = factsOf(point);
      growth += facts & GROWTH_BITS;
      if ((facts & IS_MARK) === 0) inPieces = facts >> IN_PIECES_SHIFT;
      else {
        growth += inPieces + (facts >> IN_PIECES_SHIFT);
        inPieces = 0;
      }
    }
    this.bytes += growth;
    this.#inPieces = inPieces;
    return pos;
  }

  /** Called at the end of a text, because the next one may begin with a mark. */
  endText(): void {
    this.bytes += this.#inPieces;
    this.#inPieces = 0;
  }
}

/** Bits of a character: its own growth, whether it is a mark, and its further growth in pieces. */
const GROWTH_BITS = 0xff;
const IS_MARK = 0x100;
const IN_PIECES_SHIFT = 9;

/** Pages of 256 characters, made when first needed: a page takes 0.2 ms, and most are empty. */
const PAGES: (Uint16Array | undefined)[] = new Array(0x1100);
const EMPTY_PAGE = new Uint16Array(256);

function factsOf(point: number): number {
  const index = point >> 8;
  let page = PAGES[index];
  if (page === undefined) {
    page = pageOf(index);
    PAGES[index] = page;
  }
  return page[point & 0xff] as number;
}

/** Only one page behind these has marks or characters that decompose: the variation selectors. */
const LAST_PAGE = 0x2ff;
const VARIATION_SELECTORS = 0xe01;

function pageOf(index: number): Uint16Array {
  if (index > LAST_PAGE && index !== VARIATION_SELECTORS) return EMPTY_PAGE;
  const characters = Array.from({ length: 256 }, (_, low) => String.fromCodePoint((index << 8) | low));
  const all = characters.join('');
  if (all.normalize('NFKD') === all && !MARK.test(all)) return EMPTY_PAGE;
  return Uint16Array.from(characters, factsAbout);
}

const MARK = /\p{M}/u;

function factsAbout(character: string): number {
  const own = Buffer.byteLength(character);
  const whole = Math.max(own, ...['NFC', 'NFKC'].map((form) => Buffer.byteLength(character.normalize(form))));
  const pieces = character.normalize('NFKD');
  const inPieces = Math.max(whole, Buffer.byteLength(character.normalize('NFD')), Buffer.byteLength(pieces));
  const first = String.fromCodePoint(pieces.codePointAt(0) as number);
  return (whole - own) | (MARK.test(first) ? IS_MARK : 0) | ((inPieces - whole) << IN_PIECES_SHIFT);
}
