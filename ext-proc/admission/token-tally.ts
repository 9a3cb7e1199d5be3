import type { InputTokens, TokenBounds } from '../domain/chat-request.ts';
import type { ImageSize } from './image-size.ts';
import { imageTokens } from './image-tokens.ts';
import type { PromptSink } from './prompt-sink.ts';
import { TextMeter } from './text-meter.ts';

/**
 * Counts a prompt twice (DESIGN 4). The estimate is what common tokenizers make of it. The ceiling rests on one fact: tokenizers over
 * bytes, or that fall back to bytes, never make more tokens than the text has bytes in UTF-8, as they read it: some normalize it first. To that come what chat templates put
 * around messages, calls and tools, and the instructions some of them add on their own.
 */
export class TokenTally implements PromptSink {
  readonly #text: TextMeter;
  /** Tool definitions and unknown fields, which templates write anew. */
  readonly #json: TextMeter;
  #estimate = REQUEST.estimate;
  #ceiling = REQUEST.ceiling;
  #imageCeiling = 0;
  #hasTools = false;

  /** `isPlain`: the body is ASCII, escaped characters included. */
  constructor(isPlain: boolean, samples = true) {
    this.#text = new TextMeter(isPlain, samples);
    this.#json = new TextMeter(isPlain, samples);
  }

  addMessage(): void {
    this.#add(MESSAGE);
  }

  addPart(): void {
    this.#add(PART);
  }

  addText(bytes: Buffer, start: number, end: number): void {
    this.#text.add(bytes, start, end);
  }

  addJson(bytes: Buffer, start: number, end: number): void {
    this.#json.add(bytes, start, end);
  }

  addTool(bytes: Buffer, start: number, end: number): void {
    if (!this.#hasTools) this.#add(TOOLS);
    this.#hasTools = true;
    this.#add(TOOL);
    this.addJson(bytes, start, end);
  }

  addToolCall(): void {
    this.#add(TOOL_CALL);
  }

  addImage(size: ImageSize | undefined): void {
    const tokens = imageTokens(size);
    this.#imageCeiling += tokens.ceiling;
    this.#add(tokens);
  }

  total(): InputTokens {
    const [text, json] = [this.#text, this.#json];
    const besidesText = {
      estimate: this.#estimate + Math.ceil(json.estimatedTokens()),
      // Templates write JSON anew, with indentation (which at most doubles it) and letters outside ASCII as six characters for two bytes.
      ceiling: this.#ceiling + 2 * json.bytes() + json.bytesOutsideAscii(),
    };
    const ceiling = besidesText.ceiling + text.bytes();
    return {
      estimate: this.#estimate + Math.ceil(text.estimatedTokens() + json.estimatedTokens()),
      ceiling,
      normalizedCeiling: ceiling + text.normalizationGrowth() + json.normalizationGrowth(),
      besidesText,
      ...(this.#imageCeiling === 0 ? {} : { imageCeiling: this.#imageCeiling }),
    };
  }

  #add(tokens: TokenBounds): void {
    this.#estimate += tokens.estimate;
    this.#ceiling += tokens.ceiling;
  }
}

/** The frame of a request. Templates of open models put a system message of up to 80 tokens of their own before the first one. */
const REQUEST: TokenBounds = { estimate: 3, ceiling: 128 };
/** Role and separators: 4 tokens with OpenAI's models, up to 10 in published templates. */
const MESSAGE: TokenBounds = { estimate: 4, ceiling: 16 };
/** Templates join parts, some with an end of line. */
const PART: TokenBounds = { estimate: 0, ceiling: 2 };
const TOOL_CALL: TokenBounds = { estimate: 8, ceiling: 32 };
/** How to call tools is explained to the model in up to 350 tokens. */
const TOOLS: TokenBounds = { estimate: 12, ceiling: 512 };
const TOOL: TokenBounds = { estimate: 4, ceiling: 32 };
