import { LOST_REASONING } from '../chat/edited-messages.ts';
import { tallyInput } from '../chat/held-body.ts';
import type { AddedTokens, InputTokens } from '../chat/tokens/input-tokens.ts';
import { PromptRecorder } from '../chat/tokens/prompt-record.ts';
import { finish, type Steps } from '../fairness/steps.ts';

/** What reasoning adds to the tokens of a prompt, as if the client had sent it. */
export type ReasoningTokens = AddedTokens;

/** Counts the value of a member of a message. */
export function* tokensOf(json: Buffer): Steps<ReasoningTokens> {
  const { estimate, ceiling, normalizedCeiling } = yield* countAll(json);
  return {
    estimate: estimate - FRAME.estimate,
    ceiling: ceiling - FRAME.ceiling,
    normalizedCeiling: normalizedCeiling - FRAME.normalizedCeiling,
  };
}

function countAll(bytes: Buffer): Steps<InputTokens> {
  const recorder = new PromptRecorder();
  recorder.addJson({ start: 0, end: bytes.length });
  const prompt = recorder.record();
  return tallyInput({ bytes, isPlain: false, prompt, imageSizes: [], fileBytes: [], fields: [] }, true);
}

/** Tokens of a request's frame, which are counted with the client's own prompt. */
const FRAME = finish(countAll(Buffer.alloc(0)));

/** Tokens of the placeholder in a message whose reasoning was lost. */
export const LOST_TOKENS = finish(tokensOf(LOST_REASONING));

/** Tokens of found reasoning, and of the placeholders in `lost` messages. */
export function addedTokens(found: readonly { readonly tokens: ReasoningTokens }[], lost: number): ReasoningTokens {
  const sum = (count: keyof ReasoningTokens) =>
    found.reduce((added, { tokens }) => added + tokens[count], lost * LOST_TOKENS[count]);
  return { estimate: sum('estimate'), ceiling: sum('ceiling'), normalizedCeiling: sum('normalizedCeiling') };
}
