import { NO_USAGE, type TokenUsage } from '#core/pricing.ts';

/** One-hour writes to a cache are part of its writes. */
type ShownKind = Exclude<keyof TokenUsage, 'cacheWrite1hTokens'>;

/** Names of the kinds of tokens in responses of the API, in their order. */
const NAMES: Readonly<Record<ShownKind, string>> = {
  promptTokens: 'tokens_prompt',
  completionTokens: 'tokens_completion',
  cachedTokens: 'tokens_cached',
  cacheWriteTokens: 'tokens_cache_write',
  reasoningTokens: 'tokens_reasoning',
};
const KINDS = Object.entries(NAMES) as readonly (readonly [ShownKind, string])[];

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
