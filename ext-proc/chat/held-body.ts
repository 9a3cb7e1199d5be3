import { freeMemory } from '../fairness/growing-bytes.ts';
import type { Steps } from '../fairness/steps.ts';
import type { CalledMessage, Heard, ReasoningMember } from './called-messages.ts';
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

/**
 * What a request does with its body. Nothing else refers to the accepted body's bytes, so they can
 * be freed. `textEstimate`: of the prompt's whole text.
 */
export function holdBody(read: ReadBody, facts: SentFacts, textEstimate: number) {
  const { called } = facts;
  let body: ReadBody | undefined = read;
  /** The part of the prompt's text that is kept once the bytes are free. */
  let text = NOTHING;
  let tokensOmitted = 0;
  const whole = () => {
    if (body === undefined) throw new Error('the body of a request is free already');
    return body;
  };
  const digestOf = (heard: Heard | undefined) =>
    heard === undefined ? '' : heardDigest(whole().bytes, whole().prompt, heard);
  return {
    *wholeEstimate(): Steps<number> {
      // Measured as plain: only a ceiling depends on normalization, whose bound would take as long
      // again.
      const { estimate } = yield* tallyInput({ ...whole(), isPlain: true }, false);
      return estimate;
    },
    promptText(): readonly string[] {
      if (body === undefined) return [text.toString()];
      const texts = promptTexts(body.bytes, body.prompt, true);
      return body.prompt.inputs > 0 ? texts : [texts.join('\n')];
    },
    promptTexts: () => promptTexts(whole().bytes, whole().prompt, false),
    messagesWithoutReasoning: called.contentPlaces().length,
    calledMessages(members: ReadonlySet<ReasoningMember>): readonly CalledMessage[] {
      const { bytes } = whole();
      return called
        .lacking(members)
        .map(({ message, lacks, toolCalls: { start, end }, heard, lacksDetails: sent }) => ({
          ...{ message, lacks, toolCalls: bytes.subarray(start, end), heard: digestOf(heard) },
          ...(typeof sent === 'object' ? { details: bytes.subarray(sent.start, sent.end) } : {}),
        }));
    },
    lastHeard: () => digestOf(called.heard),
    encodeFor(provider: ProviderFields) {
      const { bytes, fields, prompt } = whole();
      return providerBody({ bytes, fields, roles: prompt.roles }, facts, provider);
    },
    keepText(mostBytes: number) {
      if (mostBytes === 0) {
        tokensOmitted = body === undefined ? tokensOmitted + estimateTokens(text.toString()) : textEstimate;
        if (body !== undefined) freeMemory(body.bytes);
        text = NOTHING;
      } else if (body !== undefined) {
        const head = promptHead(body.bytes, body.prompt, mostBytes);
        text = head.text;
        tokensOmitted = head.restTokens;
      }
      body = undefined;
      return text.length;
    },
    tokensOmitted: () => tokensOmitted,
  };
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
