import { freeMemory } from '../fairness/growing-bytes.ts';
import type { Steps } from '../fairness/steps.ts';
import type { CalledMessage, CalledMessages, Heard, ReasoningMember } from './called-messages.ts';
import type { ProviderFields } from './chat-request.ts';
import { heardDigest, promptHead, promptTexts } from './prompt-text.ts';
import { type BodyField, providerBody, type SentFacts } from './provider-body.ts';
import type { ImageSize } from './tokens/image-size.ts';
import type { InputTokens } from './tokens/input-tokens.ts';
import type { PromptRecord } from './tokens/prompt-record.ts';
import { estimateTokens } from './tokens/text-meter.ts';
import { TokenTally } from './tokens/token-tally.ts';

/** An accepted body, with the places and sizes from which its tokens are counted. */
export interface ReadBody {
  readonly bytes: Buffer;
  /** True if all bytes are ASCII and there are no `\u` escapes. */
  readonly isPlain: boolean;
  readonly prompt: PromptRecord;
  /** `undefined` for an image whose size could not be read. */
  readonly imageSizes: readonly (ImageSize | undefined)[];
  /** Bytes of each file, decoded. */
  readonly fileBytes: readonly number[];
  readonly fields: readonly BodyField[];
}

/** Holds the only reference to an accepted body's bytes, so that they can be freed. */
export class HeldBody {
  #body: ReadBody | undefined;
  /** The part of the prompt's text that is kept once the bytes are free. */
  #text: Buffer = NOTHING;
  #tokensOmitted = 0;

  constructor(body: ReadBody) {
    this.#body = body;
  }

  *wholeEstimate(): Steps<number> {
    // Measured as plain: only a ceiling depends on normalization, whose bound would take as long
    // again.
    const { estimate } = yield* tallyInput({ ...this.#whole(), isPlain: true }, false);
    return estimate;
  }

  promptText(): readonly string[] {
    if (this.#body === undefined) return [this.#text.toString()];
    const texts = promptTexts(this.#body.bytes, this.#body.prompt, true);
    return this.#body.prompt.inputs > 0 ? texts : [texts.join('\n')];
  }

  promptTexts(): readonly string[] {
    const { bytes, prompt } = this.#whole();
    return promptTexts(bytes, prompt, false);
  }

  calledMessages(called: CalledMessages, members: ReadonlySet<ReasoningMember>): readonly CalledMessage[] {
    const { bytes } = this.#whole();
    return called.lacking(members).map(({ message, lacks, toolCalls: { start, end }, heard, lacksDetails: sent }) => ({
      ...{ message, lacks, toolCalls: bytes.subarray(start, end), heard: this.digestOf(heard) },
      ...(typeof sent === 'object' ? { details: bytes.subarray(sent.start, sent.end) } : {}),
    }));
  }

  digestOf(heard: Heard | undefined): string {
    const { bytes, prompt } = this.#whole();
    return heard === undefined ? '' : heardDigest(bytes, prompt, heard);
  }

  encodeFor(facts: SentFacts, provider: ProviderFields): readonly Buffer[] {
    const { bytes, fields, prompt } = this.#whole();
    return providerBody({ bytes, fields, roles: prompt.roles }, facts, provider);
  }

  /** As ChatRequest.keepText(). `estimate`: of the whole text. */
  keepText(mostBytes: number, estimate: number): number {
    if (mostBytes === 0) {
      this.#tokensOmitted =
        this.#body === undefined ? this.#tokensOmitted + estimateTokens(this.#text.toString()) : estimate;
      if (this.#body !== undefined) freeMemory(this.#body.bytes);
      this.#text = NOTHING;
    } else if (this.#body !== undefined) {
      const head = promptHead(this.#body.bytes, this.#body.prompt, mostBytes);
      this.#text = head.text;
      this.#tokensOmitted = head.restTokens;
    }
    this.#body = undefined;
    return this.#text.length;
  }

  tokensOmitted(): number {
    return this.#tokensOmitted;
  }

  #whole(): ReadBody {
    if (this.#body === undefined) throw new Error('the body of a request is free already');
    return this.#body;
  }
}

const NOTHING = Buffer.alloc(0);

/** `samples`: true if long texts are measured by samples. */
export function* tallyInput(body: ReadBody, samples: boolean): Steps<InputTokens> {
  const tally = new TokenTally(body.isPlain, samples);
  for (const size of body.imageSizes) tally.addImage(size);
  for (const bytes of body.fileBytes) tally.addFile(bytes);
  yield* tally.add(body.bytes, body.prompt);
  return tally.total();
}
