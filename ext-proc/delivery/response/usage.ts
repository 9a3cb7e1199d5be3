import { isObject, type JsonObject } from '#core/json-object.ts';
import type { TokenUsage } from '#core/pricing.ts';
import { editObject, membersOf } from '../../dialects/json-members.ts';
import { shownUsage } from '../../dialects/shown-members.ts';
import type { TotalMismatch } from '../../hold/delivery-hold.ts';

/** Basis of a usage's bounds: far above a model's maximum, far below a broken counter's numbers. */
export interface UsageBounds {
  /** The provider's window, which may be larger than the one that requests are checked against. */
  readonly contextWindow: number;
  readonly completions: number;
}

const PLAUSIBLE_WINDOWS = 10;

/** Returns `undefined` for a missing or impossible usage; the tokens are counted then. */
export function readUsage(value: unknown, bounds: UsageBounds): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const promptTokens = count(value.prompt_tokens);
  const completionTokens = count(value.completion_tokens);
  const cachedTokens = cachedTokensOf(value);
  const { cacheWriteTokens, cacheWrite1hTokens } = cacheWritesOf(value);
  const reasoningTokens = countAt(value, ['completion_tokens_details', 'reasoning_tokens']);
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  if (cachedTokens === undefined || reasoningTokens === undefined) return undefined;
  if (cacheWriteTokens === undefined || cacheWrite1hTokens === undefined) return undefined;
  const mismatch = totalMismatch(value);
  if (mismatch === 'below') return undefined;
  const missing = mismatch === 'above' ? Number(value.total_tokens) - promptTokens - completionTokens : 0;
  const ofCache = [cachedTokens, cacheWriteTokens, cachedTokens + cacheWriteTokens];
  // Only the total shows what some providers leave out of a part: Bedrock's proxies leave tokens of
  // the cache out of the prompt, others leave reasoning out of the completion. The gateway includes
  // both (docs/interface.md, "Usage").
  const ofPrompt = missing !== reasoningTokens && ofCache.includes(missing) ? missing : 0;
  const ofCompletion = missing - ofPrompt;
  const usage = {
    promptTokens: promptTokens + ofPrompt,
    completionTokens: completionTokens + ofCompletion,
    cachedTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    reasoningTokens: Math.max(reasoningTokens, ofCompletion),
  };
  return isPlausible(usage, bounds) ? usage : undefined;
}

/** Path of a member in a usage. */
type Place = readonly string[];

const [DETAILS, INPUT_DETAILS] = ['prompt_tokens_details', 'input_tokens_details'] as const;

/** Places of cached tokens. The first one that has a value decides. */
const CACHED: readonly Place[] = [
  [DETAILS, 'cached_tokens'],
  // Moonshot.
  ['cached_tokens'],
  // DeepSeek (https://api-docs.deepseek.com/guides/kv_cache).
  ['prompt_cache_hit_tokens'],
  // Proxies of Anthropic, and of Responses.
  ['cache_read_input_tokens'],
  [DETAILS, 'cache_read_tokens'],
  [INPUT_DETAILS, 'cached_tokens'],
];

/** Places of all cache writes. Some providers use several of them. */
const WRITTEN: readonly Place[] = [
  [DETAILS, 'cache_write_tokens'],
  [INPUT_DETAILS, 'cache_write_tokens'],
  // LiteLLM.
  [DETAILS, 'cache_creation_tokens'],
  // DashScope (https://github.com/nextlevelbuilder/goclaw/pull/1127).
  [DETAILS, 'cache_creation_input_tokens'],
  ['cache_creation_input_tokens'],
];

/** Places of cache writes by lifetime: five minutes and one hour. */
const BY_LIFETIME: readonly { readonly short: Place; readonly long: Place }[] = [
  ['cache_creation'],
  // DashScope, then LiteLLM.
  [DETAILS, 'cache_creation'],
  [DETAILS, 'cache_creation_token_details'],
].map((at) => ({ short: [...at, 'ephemeral_5m_input_tokens'], long: [...at, 'ephemeral_1h_input_tokens'] }));

function cachedTokensOf(usage: JsonObject): number | undefined {
  const place = CACHED.find((one) => isSaid(memberAt(usage, one)));
  return place === undefined ? 0 : countAt(usage, place);
}

/** The same tokens may be reported at several places, so the largest number counts. */
function cacheWritesOf(usage: JsonObject): Partial<Pick<TokenUsage, 'cacheWriteTokens' | 'cacheWrite1hTokens'>> {
  const written = WRITTEN.map((place) => countAt(usage, place));
  let cacheWrite1hTokens = 0;
  for (const { short, long } of BY_LIFETIME) {
    const [ofMinutes, ofAnHour] = [countAt(usage, short), countAt(usage, long)];
    if (ofMinutes === undefined || ofAnHour === undefined) return {};
    written.push(ofMinutes + ofAnHour);
    cacheWrite1hTokens = Math.max(cacheWrite1hTokens, ofAnHour);
  }
  if (!written.every((tokens) => tokens !== undefined)) return {};
  return { cacheWriteTokens: Math.max(...written), cacheWrite1hTokens };
}

/** Members that the rules above read, and DeepSeek's count of prompt tokens outside the cache. */
const READ: ReadonlySet<string> = new Set(
  [...CACHED, ...WRITTEN, ...BY_LIFETIME.flatMap(({ short, long }) => [short, long]), ['prompt_cache_miss_tokens']].map(
    (place) => place.join('.'),
  ),
);
const DEEPEST_USAGE = 4;

/** True if no rule reads a cache count of a usage: charge and provider's bill may then differ. */
export function hasUnreadCache(usage: unknown): boolean {
  return isObject(usage) && hasUnread(usage, '', false, DEEPEST_USAGE);
}

function hasUnread(members: JsonObject, path: string, isOfCache: boolean, levels: number): boolean {
  return Object.entries(members).some(([name, value]) => {
    const isAbout = isOfCache || /cache/i.test(name);
    if (isObject(value)) return levels > 1 && hasUnread(value, `${path}${name}.`, isAbout, levels - 1);
    return isAbout && (count(value) ?? 0) > 0 && !READ.has(path + name);
  });
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
    usage.promptTokens <= PLAUSIBLE_WINDOWS * contextWindow &&
    usage.completionTokens <= PLAUSIBLE_WINDOWS * contextWindow * completions
  );
}

/**
 * Makes the usage for the client from the tokens that are charged. Other counts of the provider
 * stay unchanged. Its prices are removed.
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

/** Adds charged counts to the details, for providers that report them elsewhere. */
function withCounts(details = 'null', counts: Readonly<Record<string, number>>): string {
  const charged = Object.entries(counts).filter(([, tokens]) => tokens > 0);
  const edits = Object.fromEntries(charged.map(([counted, tokens]) => [counted, String(tokens)]));
  return editObject(details === 'null' ? '{}' : details, edits);
}

function memberAt(usage: JsonObject, place: Place): unknown {
  return place.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), usage);
}

/** 0 if nothing is reported. */
function countAt(usage: JsonObject, place: Place): number | undefined {
  const value = memberAt(usage, place);
  return isSaid(value) ? count(value) : 0;
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
