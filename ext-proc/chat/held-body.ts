import type { Steps } from '../shared-budget/steps.ts';
import type { ProviderFields } from './chat-request.ts';
import { promptHead } from './prompt-head.ts';
import { promptTexts } from './prompt-text.ts';
import { type BodyField, providerBody, type SentFacts } from './provider-body.ts';
import type { ImageSize } from './tokens/image-size.ts';
import type { InputTokens } from './tokens/input-tokens.ts';
import type { PromptRecord } from './tokens/prompt-record.ts';
import { estimateTokens } from './tokens/text-meter.ts';
import { TokenTally } from './tokens/token-tally.ts';

/** The parts of a body that a model reads, and that its tokens are counted by. */
export interface ReadBody {
  readonly bytes: Buffer;
  /** ASCII, escaped characters included. */
  readonly isPlain: boolean;
  readonly prompt: PromptRecord;
  /** `undefined` for an image whose size could not be read. */
  readonly imageSizes: readonly (ImageSize | undefined)[];
  readonly fields: readonly BodyField[];
}

/**
 * The bytes of a body that was accepted, for as long as they are needed. The one place that refers
 * to them, so that they can be freed.
 */
export class HeldBody {
  #body: ReadBody | undefined;
  /** The part of the prompt's text that is kept once the bytes are free. */
  #text: Buffer = NOTHING;
  #tokensLeftOut = 0;

  constructor(body: ReadBody) {
    this.#body = body;
  }

  *wholeEstimate(): Steps<number> {
    // As if it were plain: what normalization adds to a ceiling takes as long again, and is not
    // asked for.
    const { estimate } = yield* countTokens({ ...this.#whole(), isPlain: true }, false);
    return estimate;
  }

  promptText(): string {
    if (this.#body === undefined) return this.#text.toString();
    return promptTexts(this.#body.bytes, this.#body.prompt, true).join('\n');
  }

  promptTexts(): readonly string[] {
    const { bytes, prompt } = this.#whole();
    return promptTexts(bytes, prompt, false);
  }

  encodeFor(facts: SentFacts, provider: ProviderFields): readonly Buffer[] {
    const { bytes, fields } = this.#whole();
    return providerBody(bytes, fields, facts, provider);
  }

  /** As ChatRequest.keepText(). `estimate`: of the whole prompt. */
  keepText(mostBytes: number, estimate: number): number {
    if (mostBytes === 0) {
      this.#tokensLeftOut =
        this.#body === undefined ? this.#tokensLeftOut + estimateTokens(this.#text.toString()) : estimate;
      this.#text = NOTHING;
    } else if (this.#body !== undefined) {
      const head = promptHead(this.#body.bytes, this.#body.prompt, mostBytes);
      this.#text = head.text;
      this.#tokensLeftOut = head.restTokens;
    }
    this.#body = undefined;
    return this.#text.length;
  }

  tokensLeftOut(): number {
    return this.#tokensLeftOut;
  }

  #whole(): ReadBody {
    if (this.#body === undefined) throw new Error('the body of a request is free already');
    return this.#body;
  }
}

const NOTHING = Buffer.alloc(0);

/** `samples`: of long texts, not every byte is looked at. */
export function* countTokens(body: ReadBody, samples: boolean): Steps<InputTokens> {
  const tally = new TokenTally(body.isPlain, samples);
  for (const size of body.imageSizes) tally.addImage(size);
  yield* tally.add(body.bytes, body.prompt);
  return tally.total();
}
