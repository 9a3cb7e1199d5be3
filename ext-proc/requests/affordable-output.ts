import type { NanoUsd } from '#core/money.ts';
import { largestOutputTokens, worstCaseNanoUsd } from '#core/pricing.ts';
import type { ChatWithModel } from '../chat/choose-model.ts';

/** The hold that a request needs, and the longest output that an amount pays for. */

/** Hold of a request. The context window does not bound it: the provider's may be larger. */
export function holdNanoUsdOf(input: ChatWithModel, heldOutputTokens = input.choice.heldOutputTokens): NanoUsd {
  const { inputTokens } = input.chat;
  const bytes = input.choice.model.tokenizer === 'bytes';
  return costOf(input, bytes ? inputTokens.normalizedCeiling : inputTokens.ceiling, heldOutputTokens);
}

/** Lowest hold after an exact count of the input: the estimate may be twice the true count. */
export function likelyNanoUsd(input: ChatWithModel, heldOutputTokens: number): NanoUsd {
  return costOf(input, Math.floor(input.chat.inputTokens.estimate / 2), heldOutputTokens);
}

function costOf({ chat, choice }: ChatWithModel, inputTokens: number, heldOutputTokens: number): NanoUsd {
  const terms = { priceTable: choice.model.priceTable, askedTier: chat.serviceTier };
  return worstCaseNanoUsd(terms, inputTokens, chat.completions * heldOutputTokens);
}

/** Largest output limit, at most the chosen one, whose hold the amount covers. 0: none. */
export function affordableOutputTokens(input: ChatWithModel, availableNanoUsd: NanoUsd): number {
  const { outputLimit, leastOutputTokens } = input.choice;
  return largestOutputTokens(
    outputLimit,
    (limit) => holdNanoUsdOf(input, Math.max(limit, leastOutputTokens)) <= availableNanoUsd,
  );
}

/** Shortest default output that is worth a request. */
const LEAST_DEFAULT_TOKENS = 256;

/**
 * The request with its default output limit lowered to what the amount pays for, but not below the
 * shortest one. `undefined`: the client gave a limit, or the default is low enough.
 */
export function withAffordableDefault(input: ChatWithModel, availableNanoUsd: NanoUsd): ChatWithModel | undefined {
  const { chat, choice } = input;
  if (chat.maxTokens !== undefined) return undefined;
  const affordable = affordableOutputTokens(input, availableNanoUsd);
  const outputLimit = Math.max(affordable, Math.min(LEAST_DEFAULT_TOKENS, choice.outputLimit));
  if (outputLimit >= choice.outputLimit) return undefined;
  const heldOutputTokens = Math.max(outputLimit, choice.leastOutputTokens);
  return { chat, choice: { ...choice, outputLimit, heldOutputTokens } };
}
