import type { Steps } from '../../fairness/steps.ts';
import type { ImageSize } from './image-size.ts';
import { imageTokens } from './image-tokens.ts';
import type { EmbeddedInputs, InputTokens, TokenBounds } from './input-tokens.ts';
import { JsonGrowth } from './json-growth.ts';
import { ARGUMENTS, JSON_TEXT, type PromptRecord, TEXT } from './prompt-record.ts';
import { TEXT_STEP_BYTES, TextMeter } from './text-meter.ts';

/**
 * Counts a prompt twice (docs/design.md, "Delivery"). The estimate approximates common tokenizers.
 * The ceiling rests on one fact: tokenizers over bytes, or with a fallback to bytes, never make
 * more tokens than the text has bytes in UTF-8, after normalization if they normalize first. The
 * frames of chat templates around messages, calls and tools, and the instructions that some of them
 * add, are added to both.
 */
export class TokenTally {
  readonly #text: TextMeter;
  /** Bytes of tool definitions and unknown fields, which templates serialize again. */
  readonly #json: TextMeter;
  #estimate = 0;
  #ceiling = 0;
  #inputs: EmbeddedInputs | undefined;
  #imageCeiling = 0;

  /** `isPlain`: all bytes are ASCII, and there are no `\u` escapes. */
  constructor(isPlain: boolean, samples: boolean) {
    this.#text = new TextMeter(isPlain, samples);
    this.#json = new TextMeter(isPlain, samples);
  }

  *add(bytes: Buffer, record: PromptRecord): Steps<void> {
    const { messages, parts, toolCalls, tools, inputs, givenTokens, pieces } = record;
    const isEmbedded = inputs > 0;
    this.#add(isEmbedded ? INPUT : REQUEST, isEmbedded ? pieces.length / 3 : 1);
    this.#add(GIVEN, givenTokens);
    this.#add(MESSAGE, messages);
    this.#add(PART, parts);
    this.#add(TOOL_CALL, toolCalls);
    this.#add(TOOL, tools);
    this.#add(TOOLS, Math.min(1, tools));
    let sinceStep = 0;
    let longest = record.longestGiven;
    for (let at = 0; at < pieces.length; at += 3) {
      const [kind, start, end] = [pieces[at], pieces[at + 1] as number, pieces[at + 2] as number];
      const meter = kind === JSON_TEXT ? this.#json : this.#text;
      const before = meter.estimatedTokens();
      if (end - start > TEXT_STEP_BYTES) yield* meter.addInSteps(bytes, start, end);
      else meter.add(bytes, start, end);
      if (kind !== TEXT) yield* this.#addGrowth(bytes, start, end, kind === ARGUMENTS);
      longest = Math.max(longest, meter.estimatedTokens() - before);
      sinceStep += PIECE_BYTES + end - start;
      if (sinceStep < TEXT_STEP_BYTES) continue;
      sinceStep = 0;
      yield;
    }
    if (isEmbedded) this.#inputs = { count: inputs, givenTokens, longest: Math.ceil(longest) };
  }

  addImage(size: ImageSize | undefined): void {
    const tokens = imageTokens(size);
    this.#imageCeiling += tokens.ceiling;
    this.#add(tokens, 1);
  }

  /** The ceiling depends on the model (choose-model.ts). */
  addFile(bytes: number): void {
    this.#estimate += Math.min(MOST_FILE_TOKENS, Math.max(PAGE_TOKENS, Math.ceil(bytes / FILE_BYTES_PER_TOKEN)));
  }

  total(): InputTokens {
    const [text, json] = [this.#text, this.#json];
    const besidesText = {
      estimate: this.#estimate + Math.ceil(json.estimatedTokens()),
      // Templates serialize JSON again, with indentation: two tokens a byte, and what JsonGrowth
      // adds.
      ceiling: this.#ceiling + 2 * json.bytes(),
    };
    const ceiling = besidesText.ceiling + text.bytes();
    return {
      estimate: this.#estimate + Math.ceil(text.estimatedTokens() + json.estimatedTokens()),
      ceiling,
      normalizedCeiling: ceiling + text.normalizationGrowth() + json.normalizationGrowth(),
      besidesText,
      ...(this.#imageCeiling === 0 ? {} : { imageCeiling: this.#imageCeiling }),
      ...(this.#inputs === undefined ? {} : { inputs: this.#inputs }),
    };
  }

  *#addGrowth(bytes: Buffer, start: number, end: number, isText: boolean): Steps<void> {
    const growth = new JsonGrowth(isText);
    for (let pos = start; pos < end; ) {
      pos = growth.read(bytes, pos, Math.min(end, pos + TEXT_STEP_BYTES));
      if (pos < end) yield;
    }
    this.#ceiling += growth.tokens;
  }

  #add({ estimate, ceiling }: TokenBounds, times: number): void {
    this.#estimate += estimate * times;
    this.#ceiling += ceiling * times;
  }
}

/**
 * The estimate of a PDF file. A page costs 1,500 to 3,000 tokens
 * (https://platform.claude.com/docs/en/build-with-claude/pdf-support) and scanned ones have 100 KB
 * and more. The bound keeps large scans out of refusals for their length.
 */
const PAGE_TOKENS = 2000;
const FILE_BYTES_PER_TOKEN = 50;
const MOST_FILE_TOKENS = 100_000;

/** Fixed cost of a piece, in bytes, for the length of a step. */
const PIECE_BYTES = 64;

/** Frame of a request. Templates of open models put up to 80 tokens before the first message. */
const REQUEST: TokenBounds = { estimate: 3, ceiling: 128 };
/** Role and separators: 4 tokens with OpenAI's models, up to 10 in published templates. */
const MESSAGE: TokenBounds = { estimate: 4, ceiling: 16 };
/** Templates join parts, some with an end of line. */
const PART: TokenBounds = { estimate: 0, ceiling: 2 };
const TOOL_CALL: TokenBounds = { estimate: 8, ceiling: 32 };
/** Templates explain to the model how to call tools, in up to 350 tokens. */
const TOOLS: TokenBounds = { estimate: 12, ceiling: 512 };
const TOOL: TokenBounds = { estimate: 4, ceiling: 32 };
/** An input of embeddings. Some models put one token before it and one behind it. */
const INPUT: TokenBounds = { estimate: 0, ceiling: 2 };
const GIVEN: TokenBounds = { estimate: 1, ceiling: 1 };
