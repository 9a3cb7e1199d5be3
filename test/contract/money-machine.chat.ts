import { NO_USAGE } from '#core/pricing.ts';
import type { ProviderOutput } from '#ext-proc/hold/delivery-hold.ts';
import { doneWith } from '../fixtures/chat-request.ts';

/** The parts of a chat that `admit` reads. */
export const CHAT = {
  stream: true,
  includeUsage: false,
  completions: 1,
  jsonFormat: false,
  ...{ hasTools: false, hasImages: false, hasRemoteImages: false, hasMedia: false },
  inputTokens: { estimate: 1, ceiling: 1, normalizedCeiling: 1, besidesText: { estimate: 1, ceiling: 1 } },
  wholeEstimate: () => doneWith(1),
  ...{ promptText: () => [''], promptTexts: () => [], identities: new Map<string, string>() },
  encodeFor: () => [],
  keepText: () => 0,
  messagesWithoutReasoning: 0,
  calledMessages: () => [],
  lastHeard: () => '',
  ...{ tokensOmitted: () => 0, unsentTokens: () => 0 },
};

export function producedOf(completionTokens: number, cancelled: boolean): ProviderOutput {
  const facts = { usageCounted: false, cancelled, firstEventMs: 1, generationTimeMs: 1 };
  return { provider: 'played', providerModel: 'played-1', usage: { ...NO_USAGE, completionTokens }, ...facts };
}
