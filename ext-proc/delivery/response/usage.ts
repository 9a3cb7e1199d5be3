import { isObject, type JsonObject } from '../../../core/json-object.ts';
import type { TokenUsage } from '../../../core/pricing.ts';
import type { TotalMismatch } from '../../delivery-contract/delivery-hold.ts';
import { editObject, membersOf } from './json-members.ts';
import { shownUsage } from './shown-members.ts';

/**
 * Upper bounds of a plausible usage: far above a model's real maximum, far below the numbers of a
 * broken counter.
 */
export interface UsageBounds {
  /** The provider's, which may be larger than the one that requests are checked against. */
  readonly contextWindow: number;
  readonly completions: number;
}

const BELIEVABLE_WINDOWS = 10;

/** Returns `undefined` for a missing or impossible usage; the tokens are counted then. */
export function readUsage(value: unknown, bounds: UsageBounds): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const promptTokens = count(value.prompt_tokens);
  const completionTokens = count(value.completion_tokens);
  const cachedTokens = cachedTokensOf(value);
  const cacheWrite1hTokens = detail(value.cache_creation, 'ephemeral_1h_input_tokens');
  const cacheWriteTokens = cacheWriteTokensOf(value);
  const reasoningTokens = detail(value.completion_tokens_details, 'reasoning_tokens');
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  if (cachedTokens === undefined || reasoningTokens === undefined) return undefined;
  if (cacheWriteTokens === undefined || cacheWrite1hTokens === undefined) return undefined;
  const mismatch = totalMismatch(value);
  if (mismatch === 'below') return undefined;
  // Some providers leave reasoning out of completion_tokens, and only their total shows it. Here it
  // is part of them (docs/interface.md, "Decisions on open points").
  const missing = mismatch === 'above' ? Number(value.total_tokens) - promptTokens - completionTokens : 0;
  const usage = {
    promptTokens,
    completionTokens: completionTokens + missing,
    cachedTokens,
    cacheWriteTokens: Math.max(cacheWriteTokens, cacheWrite1hTokens),
    cacheWrite1hTokens,
    reasoningTokens: Math.max(reasoningTokens, missing),
  };
  return isPlausible(usage, bounds) ? usage : undefined;
}

/**
 * Names of cached tokens without details: Moonshot's, and DeepSeek's
 * (https://api-docs.deepseek.com/guides/kv_cache).
 */
const CACHED_AT_TOP = ['cached_tokens', 'prompt_cache_hit_tokens'] as const;

function cachedTokensOf(value: JsonObject): number | undefined {
  const { prompt_tokens_details: details } = value;
  if (isObject(details) && isSaid(details.cached_tokens)) return count(details.cached_tokens);
  const name = CACHED_AT_TOP.find((top) => isSaid(value[top]));
  return name === undefined ? 0 : count(value[name]);
}

/** Tokens that were written to the cache. Some providers report them under several names. */
function cacheWriteTokensOf(value: JsonObject): number | undefined {
  const written = [
    detail(value.prompt_tokens_details, 'cache_write_tokens'),
    detail(value.prompt_tokens_details, 'cache_creation_tokens'),
    detail(value, 'cache_creation_input_tokens'),
  ];
  return written.every((tokens) => tokens !== undefined) ? Math.max(...written) : undefined;
}

export function totalMismatch(value: unknown): TotalMismatch | undefined {
  if (!isObject(value)) return undefined;
  const [total, prompt, completion] = [value.total_tokens, value.prompt_tokens, value.completion_tokens].map(count);
  if (total === undefined || prompt === undefined || completion === undefined) return undefined;
  if (total === prompt + completion) return undefined;
  return total > prompt + completion ? 'above' : 'below';
}

function isPlausible(usage: TokenUsage, { contextWindow, completions }: UsageBounds): boolean {
  return (
    usage.promptTokens > 0 &&
    usage.cachedTokens + usage.cacheWriteTokens <= usage.promptTokens &&
    usage.reasoningTokens <= usage.completionTokens &&
    usage.promptTokens <= BELIEVABLE_WINDOWS * contextWindow &&
    usage.completionTokens <= BELIEVABLE_WINDOWS * contextWindow * completions
  );
}

/**
 * The usage that the client is shown is the usage that was charged; what else the provider counted
 * stays as it came, its prices do not.
 */
export function usageJson(providerText: string | undefined, usage: TokenUsage, costUsd: number): string {
  const text = providerText ?? '{}';
  const members = membersOf(text);
  const edits = shownUsage(text, members);
  edits.prompt_tokens = String(usage.promptTokens);
  edits.completion_tokens = String(usage.completionTokens);
  edits.total_tokens = String(usage.promptTokens + usage.completionTokens);
  const { cachedTokens: cached_tokens, cacheWriteTokens: cache_write_tokens } = usage;
  if (cached_tokens > 0 || cache_write_tokens > 0)
    edits.prompt_tokens_details = withCounts(edits.prompt_tokens_details, { cached_tokens, cache_write_tokens });
  if (usage.reasoningTokens > 0)
    edits.completion_tokens_details = withCounts(edits.completion_tokens_details, {
      reasoning_tokens: usage.reasoningTokens,
    });
  edits.cost = JSON.stringify(costUsd);
  return editObject(text, edits, members);
}

/** Details that show what was charged where the provider said it elsewhere. */
function withCounts(details = 'null', counts: Readonly<Record<string, number>>): string {
  const charged = Object.entries(counts).filter(([, tokens]) => tokens > 0);
  const edits = Object.fromEntries(charged.map(([counted, tokens]) => [counted, String(tokens)]));
  return editObject(details === 'null' ? '{}' : details, edits);
}

function detail(details: unknown, name: string): number | undefined {
  if (!isObject(details)) return 0;
  const value = details[name];
  return isSaid(value) ? count(value) : 0;
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
