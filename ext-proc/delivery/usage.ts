import type { TokenUsage } from '../domain/pricing.ts';
import { editObject } from './json-members.ts';
import { isObject } from './json-object.ts';

/** What a believable usage can be at most: far above what a model can read or write, far below what a broken counter prints. */
export interface UsageBounds {
  readonly contextWindow: number;
  readonly completions: number;
}

const BELIEVABLE_WINDOWS = 10;

/** `undefined`: none, or one that cannot be true; it is counted then (INTERFACE 4). */
export function readUsage(value: unknown, bounds: UsageBounds): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const promptTokens = count(value.prompt_tokens);
  const completionTokens = count(value.completion_tokens);
  const cachedTokens = detail(value.prompt_tokens_details, 'cached_tokens');
  const reasoningTokens = detail(value.completion_tokens_details, 'reasoning_tokens');
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  if (cachedTokens === undefined || reasoningTokens === undefined) return undefined;
  // Some providers leave reasoning out of completion_tokens, and their own total shows it. Here it is part of them (INTERFACE 5).
  const apart = reasoningTokens > 0 && value.total_tokens === promptTokens + completionTokens + reasoningTokens;
  const usage = {
    promptTokens,
    completionTokens: apart ? completionTokens + reasoningTokens : completionTokens,
    cachedTokens,
    reasoningTokens,
  };
  return isBelievable(usage, bounds) ? usage : undefined;
}

function isBelievable(usage: TokenUsage, { contextWindow, completions }: UsageBounds): boolean {
  return (
    usage.promptTokens > 0 &&
    usage.cachedTokens <= usage.promptTokens &&
    usage.reasoningTokens <= usage.completionTokens &&
    usage.promptTokens <= BELIEVABLE_WINDOWS * contextWindow &&
    usage.completionTokens <= BELIEVABLE_WINDOWS * contextWindow * completions
  );
}

/** The usage that the client is shown is the usage that was charged; the provider's further fields stay as they came. */
export function usageJson(providerText: string | undefined, usage: TokenUsage, costUsd: number): string {
  return editObject(providerText ?? '{}', {
    prompt_tokens: String(usage.promptTokens),
    completion_tokens: String(usage.completionTokens),
    total_tokens: String(usage.promptTokens + usage.completionTokens),
    cost: JSON.stringify(costUsd),
  });
}

function detail(details: unknown, name: string): number | undefined {
  if (!isObject(details)) return 0;
  const value = details[name];
  return value === undefined || value === null ? 0 : count(value);
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
