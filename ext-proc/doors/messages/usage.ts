import type { JsonObject } from '#core/json-object.ts';
import type { ChargedUsage } from '../door.ts';

/** The charged usage. Its input excludes tokens that were read from or written to a cache. */
export function messageUsage({ usage, serviceTier, costUsd }: ChargedUsage): JsonObject {
  const { promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens } = usage;
  return {
    input_tokens: promptTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: cacheWriteTokens - cacheWrite1hTokens,
      ephemeral_1h_input_tokens: cacheWrite1hTokens,
    },
    output_tokens: usage.completionTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    server_tool_use: null,
    ...(serviceTier === undefined ? {} : servedBy(serviceTier)),
    cost: costUsd,
  };
}

function servedBy(tier: string): JsonObject {
  if (tier === 'fast') return { service_tier: 'standard', speed: 'fast' };
  return { service_tier: tier === 'default' ? 'standard' : tier };
}

/** Usage at the beginning of a message, when nothing is known. */
export const NO_USAGE: JsonObject = {
  ...{ input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
  ...{ cache_creation: null, server_tool_use: null },
};

/** Members of a provider's usage that count tokens, or name the tier that served them. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'cache_creation'],
  ...['output_tokens_details', 'server_tool_use', 'service_tier', 'speed'],
]);

export function shownUsage(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([name]) => SHOWN.has(name)));
}
