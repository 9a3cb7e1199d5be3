import type { Steps } from '../../fairness/steps.ts';
import { BACKSLASH, LETTER_U } from '../json/json-bytes.ts';
import { escapedCodePoint, SHORT_ESCAPES } from '../json/json-text.ts';
import { NormalizationGrowth } from './normalization-growth.ts';
import { BLOCK, isSampled, SAMPLED } from './sampled-blocks.ts';
import { weightOf } from './script-weights.ts';

/**
 * Measures text as it is written in the body, with escapes: its bytes in UTF-8, exactly, and an
 * estimate of its tokens.
 *
 * Tokenizers first cut text into words, numbers, runs of signs and runs of white space, then into
 * pieces that they know. So the meter counts such runs and weighs them by kind and length. Weights
 * are fitted to o200k_base and cl100k_base on test/corpus. token-bounds.test.ts states the error
 * for any other text. A byte costs 1 to 2 ns, so beyond 32 KiB only every fourth block of 256 bytes
 * is measured. In the other blocks bytes are counted as they are written in the body, which is
 * never too few.
 */
export class TextMeter {
  /** True for ASCII without `\u` escapes, which no normalization changes. */
  readonly #isPlain: boolean;
  readonly #measuredWhole: number;
  #bytes = 0;
  readonly #growth = new NormalizationGrowth();
  /** Tokens x 1000. */
  #weight = 0;
  /** Kind of the last byte. An escaped sign or line end after one of its kind adds little. */
  #previous = 0;

  /** `samples`: true if long texts are measured by samples. */
  constructor(isPlain: boolean, samples = true) {
    this.#isPlain = isPlain;
    this.#measuredWhole = samples ? MEASURED_WHOLE : Number.POSITIVE_INFINITY;
  }

  bytes(): number {
    return this.#bytes;
  }

  /** Bytes that the normalization of a tokenizer can add. */
  normalizationGrowth(): number {
    return this.#growth.bytes;
  }

  estimatedTokens(): number {
    return this.#weight / 1000;
  }

  add(bytes: Uint8Array, start: number, end: number): void {
    const isSampled = this.#bytes + end - start > this.#measuredWhole;
    if (isSampled) this.#sample(bytes, start, end);
    else this.#measure(bytes, start, end);
    if (this.#isPlain) return;
    this.#growth.read(bytes, start, end);
    this.#growth.endText();
  }

  /** As `add`, in steps for a text of any length. */
  *addInSteps(bytes: Uint8Array, start: number, end: number): Steps<void> {
    const isSampled = this.#bytes + end - start > this.#measuredWhole;
    let measured = start;
    let grown = start;
    while (measured < end) {
      const stop = Math.min(end, measured - (measured % BLOCK) + TEXT_STEP_BYTES);
      measured = isSampled ? this.#sample(bytes, measured, stop) : this.#measure(bytes, measured, stop);
      if (!this.#isPlain) grown = this.#growth.read(bytes, grown, stop);
      if (measured < end) yield;
    }
    this.#growth.endText();
  }

  /** Blocks are at fixed places of the body, so many short texts are sampled like one long text. */
  #sample(bytes: Uint8Array, start: number, end: number): number {
    let pos = start;
    while (pos < end) {
      const block = Math.floor(pos / BLOCK);
      const blockEnd = Math.min(end, (block + 1) * BLOCK);
      if (isSampled(block)) {
        const before = this.#weight;
        this.#measure(bytes, pos, blockEnd);
        this.#weight += (this.#weight - before) * (SAMPLED - 1);
        this.#bytes += CUT_ESCAPE;
      } else this.#bytes += blockEnd - pos;
      pos = blockEnd;
    }
    return pos;
  }

  /** Returns the position behind the last character that begins before `end`. */
  #measure(bytes: Uint8Array, start: number, end: number): number {
    this.#previous = WIDE;
    let pos = start;
    while (pos < end) {
      const kind = KINDS[bytes[pos] as number] as number;
      if (kind === ESCAPE) pos = this.#addEscape(bytes, pos);
      else if (kind === WIDE) pos = this.#addWide(bytes, pos);
      else pos = this.#addRuns(bytes, pos, end);
    }
    return pos;
  }

  /** Measures up to the next escape or wide character: one step for two bytes, no branches. */
  #addRuns(bytes: Uint8Array, start: number, end: number): number {
    let pos = start;
    let state = 0;
    let weight = 0;
    for (const last = end - 1; pos < last; pos += 2) {
      const kinds = ((KINDS[bytes[pos] as number] as number) << 3) + (KINDS[bytes[pos + 1] as number] as number);
      const step = PAIRS[(state << 3) + kinds] as number;
      if (step < 0) break;
      state = step & STATE_BITS;
      weight += step >> WEIGHT_SHIFT;
    }
    for (; pos < end; pos++) {
      const step = STEPS[state + (KINDS[bytes[pos] as number] as number)] as number;
      if (step < 0) break;
      state = step & STATE_BITS;
      weight += step >> WEIGHT_SHIFT;
    }
    this.#weight += weight;
    this.#bytes += pos - start;
    this.#previous = kindOf(state);
    return state === LONG_SIGNS ? this.#addMoreSigns(bytes, pos, end) : pos;
  }

  /** Continues a long run of signs: only repeats of one sign have tokens of their own. */
  #addMoreSigns(bytes: Uint8Array, start: number, end: number): number {
    let pos = start;
    for (; pos < end; pos++) {
      const byte = bytes[pos] as number;
      if (KINDS[byte] !== SIGN) break;
      this.#weight += byte === bytes[pos - 1] ? (REPEATED_SIGNS[byte] as number) : OTHER_SIGN;
    }
    this.#bytes += pos - start;
    return pos;
  }

  #addEscape(bytes: Uint8Array, pos: number): number {
    const letter = bytes[pos + 1] as number;
    if (letter !== LETTER_U) {
      const kind = KINDS[SHORT_ESCAPES[letter] as number] === SPACES ? SPACES : SIGN;
      this.#bytes++;
      if (kind === SIGN) this.#weight += this.#previous === SIGN ? 300 : 700;
      else if (this.#previous === SPACES) this.#weight += weightOfNextSpace(bytes, pos);
      else this.#weight += this.#previous === SIGN ? 300 : 700;
      this.#previous = kind;
      return pos + 2;
    }
    this.#previous = WIDE;
    const point = escapedCodePoint(bytes, pos);
    const length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    this.#bytes += length;
    this.#weight += weightOf(point);
    return pos + (length === 4 ? 12 : 6);
  }

  /** One character of more than one byte. */
  #addWide(bytes: Uint8Array, pos: number): number {
    const lead = bytes[pos] as number;
    this.#previous = WIDE;
    const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    let point = lead & (0x7f >> length);
    for (let i = 1; i < length; i++) point = (point << 6) | ((bytes[pos + i] as number) & 0x3f);
    this.#bytes += length;
    this.#weight += weightOf(point);
    return pos + length;
  }
}

/** A multiple of `BLOCK`; takes 1 ms at worst. */
export const TEXT_STEP_BYTES = 64 * 1024;
const MEASURED_WHOLE = 32 * 1024;
/** A block may begin inside an escape, which then counts up to this much too little. */
const CUT_ESCAPE = 16;

const LOWER = 0;
const UPPER = 1;
const DIGIT = 2;
const SPACES = 3;
const SIGN = 4;
const WIDE = 5;
const ESCAPE = 6;

const KINDS = new Uint8Array(256).fill(SIGN);
KINDS.fill(LOWER, 0x61, 0x7b);
KINDS.fill(UPPER, 0x41, 0x5b);
KINDS.fill(DIGIT, 0x30, 0x3a);
KINDS.fill(SPACES, 0x09, 0x0e);
KINDS[0x20] = SPACES;
KINDS.fill(WIDE, 0x80);
KINDS[BACKSLASH] = ESCAPE;

/** Weights by length of a run, in tokens x 1000. */
const LONGEST_WEIGHED = 31;
const RUN_WEIGHTS: readonly Uint32Array[] = [
  weights((length) => 960 + Math.min(2, Math.max(0, length - 5)) * 40 + Math.max(0, length - 7) * 220),
  weights((length) => 1000 + Math.max(0, length - 2) * 260),
  weights((length) => Math.ceil(length / 3) * 1000 + 150),
  // A single space belongs to the word behind it; more of them are one token.
  weights((length) => (length === 1 ? 20 : 700)),
  weights((length) => 820 + Math.max(0, length - 2) * 300),
];
const WEIGHT_BEYOND: readonly number[] = [250, 300, 333, 10];
/** A run of signs of this length is measured sign by sign. */
const LONG_SIGN_RUN = 6;
/** Three random signs are two tokens (measured). Each of the worst is one token. */
const OTHER_SIGN = 550;
/** Weight of a repeated sign. A token has 16 to 64 line signs, 2 to 8 other signs, but one DEL. */
const REPEATED_SIGNS = new Uint16Array(256).fill(250);
for (const sign of '-=*#_/.~%+') REPEATED_SIGNS[sign.charCodeAt(0)] = 16;
for (const sign of '!:;<>') REPEATED_SIGNS[sign.charCodeAt(0)] = 80;
for (const sign of '?@^') REPEATED_SIGNS[sign.charCodeAt(0)] = 125;
REPEATED_SIGNS[0x7f] = 600;

function weights(weigh: (length: number) => number): Uint32Array {
  return Uint32Array.from({ length: LONGEST_WEIGHED + 1 }, (_, length) => Math.round(weigh(length)));
}

/**
 * Transitions by state and kind of byte. A transition has the next state in its low bits and the
 * added weight above them. A state stands for the kind and length of a run, or is 0 at the
 * beginning. It is the index of the first of its eight transitions.
 */
const LONG_SIGNS = stateOf(SIGN, LONG_SIGN_RUN);
const STOP = -1;
const STATE_BITS = 0x7ff;
const WEIGHT_SHIFT = 11;
const STEPS = new Int32Array(stateOf(SIGN, LONGEST_WEIGHED) + 8).fill(STOP);

function stateOf(kind: number, length: number): number {
  return 8 * (kind * LONGEST_WEIGHED + length);
}

function kindOf(state: number): number {
  return Math.floor((state / 8 - 1) / LONGEST_WEIGHED);
}

function weightOfRun(kind: number, length: number): number {
  return (RUN_WEIGHTS[kind] as Uint32Array)[length] as number;
}

for (const kind of [LOWER, UPPER, DIGIT, SPACES, SIGN]) {
  for (let state = 0; state < STEPS.length; state += 8) {
    STEPS[state + kind] = (weightOfRun(kind, 1) << WEIGHT_SHIFT) | stateOf(kind, 1);
  }
  for (let length = 1; length < LONGEST_WEIGHED; length++) {
    const added = weightOfRun(kind, length + 1) - weightOfRun(kind, length);
    STEPS[stateOf(kind, length) + kind] = (added << WEIGHT_SHIFT) | stateOf(kind, length + 1);
  }
  const longest = stateOf(kind, LONGEST_WEIGHED);
  if (kind !== SIGN) STEPS[longest + kind] = ((WEIGHT_BEYOND[kind] as number) << WEIGHT_SHIFT) | longest;
}
STEPS[LONG_SIGNS + SIGN] = STOP;
// A word may begin with one capital letter.
STEPS[stateOf(UPPER, 1) + LOWER] =
  ((weightOfRun(LOWER, 2) - weightOfRun(UPPER, 1)) << WEIGHT_SHIFT) | stateOf(LOWER, 2);

/** Transitions for two bytes, 64 for each state: half as many look-ups wait for each other. */
const PAIRS = Int32Array.from({ length: 8 * STEPS.length }, (_, index) => {
  const first = STEPS[index >> 3] as number;
  const second = first < 0 ? STOP : (STEPS[(first & STATE_BITS) + (index & 7)] as number);
  return second < 0 ? STOP : second + (first & ~STATE_BITS);
});

/**
 * Weight of an escaped line end or tab after white space. A run of one kind is few tokens, and so
 * is indentation. A carriage return begins a token of its own, unless it ends a line.
 */
function weightOfNextSpace(bytes: Uint8Array, pos: number): number {
  const letter = bytes[pos + 1];
  const before = bytes[pos - 2] === BACKSLASH ? bytes[pos - 1] : undefined;
  if (letter === LETTER_N) return before === LETTER_N || before === LETTER_R ? 40 : 250;
  if (letter === LETTER_T) return before === LETTER_T ? 40 : before === LETTER_N ? 60 : 250;
  return before === LETTER_N ? 250 : 500;
}

const LETTER_N = 0x6e;
const LETTER_R = 0x72;
const LETTER_T = 0x74;

/** Estimates the tokens of plain text, in which a backslash is not an escape. */
export function estimateTokens(text: string): number {
  const meter = new TextMeter(true);
  const bytes = Buffer.from(text.replaceAll('\\', '/'));
  meter.add(bytes, 0, bytes.length);
  return meter.estimatedTokens();
}
