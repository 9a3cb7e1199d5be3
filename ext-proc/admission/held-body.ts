import type { ProviderFields } from '../domain/chat-request.ts';
import { newChatFacts } from './chat-facts.ts';
import { CHAT_FIELDS } from './chat-fields.ts';
import { JsonCursor } from './json-cursor.ts';
import { PromptHead } from './prompt-head.ts';
import type { PromptSink } from './prompt-sink.ts';
import { PromptTextCollector } from './prompt-text.ts';
import { type BodyField, providerBody } from './provider-body.ts';
import { estimateTokens } from './text-meter.ts';
import { TokenTally } from './token-tally.ts';

/** The bytes of a body that was accepted, for as long as they are needed. The one place that refers to them, so that they can be freed. */
export class HeldBody {
  #bytes: Buffer | undefined;
  readonly #fields: readonly BodyField[];
  readonly #isPlain: boolean;
  /** What is left of the prompt's text once the bytes are free. */
  #text: Buffer = NOTHING;
  #tokensLeftOut = 0;

  constructor(bytes: Buffer, fields: readonly BodyField[], isPlain: boolean) {
    this.#bytes = bytes;
    this.#fields = fields;
    this.#isPlain = isPlain;
  }

  wholeEstimate(): number {
    return this.#walk(new TokenTally(this.#isPlain, false)).total().estimate;
  }

  promptText(): string {
    return this.#bytes === undefined ? this.#text.toString() : this.#walk(new PromptTextCollector()).text();
  }

  promptTexts(): readonly string[] {
    return this.#walk(new PromptTextCollector()).texts();
  }

  encodeFor(stream: boolean, provider: ProviderFields): readonly Buffer[] {
    return providerBody(this.#whole(), this.#fields, stream, provider);
  }

  /** As ChatRequest.keepText(). `estimate`: of the whole prompt. */
  keepText(mostBytes: number, estimate: number): number {
    if (mostBytes === 0) {
      this.#tokensLeftOut =
        this.#bytes === undefined ? this.#tokensLeftOut + estimateTokens(this.#text.toString()) : estimate;
      this.#text = NOTHING;
    } else if (this.#bytes !== undefined) {
      const head = this.#walk(new PromptHead(mostBytes, this.#isPlain));
      this.#text = head.text();
      this.#tokensLeftOut = head.restTokens();
    }
    this.#bytes = undefined;
    return this.#text.length;
  }

  tokensLeftOut(): number {
    return this.#tokensLeftOut;
  }

  #whole(): Buffer {
    if (this.#bytes === undefined) throw new Error('the body of a request is free already');
    return this.#bytes;
  }

  /** A second walk over what the first one accepted. */
  #walk<Sink extends PromptSink>(sink: Sink): Sink {
    const bytes = this.#whole();
    const facts = newChatFacts(sink);
    for (const { name, valueStart } of this.#fields)
      CHAT_FIELDS.get(name)?.(new JsonCursor(bytes, valueStart), facts, name);
    return sink;
  }
}

const NOTHING = Buffer.alloc(0);
