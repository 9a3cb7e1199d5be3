import { NO_USAGE, type TokenUsage } from '../../core/pricing.ts';

/** Names of the kinds of tokens in responses of the API, in their order. */
const NAMES: Readonly<Record<keyof TokenUsage, string>> = {
  promptTokens: 'tokens_prompt',
  completionTokens: 'tokens_completion',
  cachedTokens: 'tokens_cached',
  reasoningTokens: 'tokens_reasoning',
};
const KINDS = Object.entries(NAMES) as readonly (readonly [keyof TokenUsage, string])[];

export function tokenFigures(usage: TokenUsage): Readonly<Record<string, number>> {
  return Object.fromEntries(KINDS.map(([kind, name]) => [name, usage[kind]]));
}

/** Sums of usage by kind. */
export class UsageSums {
  readonly usage: Record<keyof TokenUsage, number> = { ...NO_USAGE };

  add(usage: TokenUsage): void {
    for (const [kind] of KINDS) this.usage[kind] += usage[kind];
  }
}
