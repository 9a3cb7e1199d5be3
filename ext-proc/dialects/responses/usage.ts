import { isObject, type JsonObject, numbersIn } from '#core/json-object.ts';
import { cacheCountsIn } from '../shown-members.ts';

/** Usage in chat's form with unchanged counts, which `readUsage` checks. `undefined`: none. */
export function chatUsage(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined;
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  const lasting = lastingWrites(input);
  return {
    ...numbersIn({
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      total_tokens: usage.total_tokens,
      ...cacheCountsIn(usage),
    }),
    ...(isObject(input) ? { prompt_tokens_details: numbersIn(input) } : {}),
    ...(isObject(output)
      ? { completion_tokens_details: numbersIn({ reasoning_tokens: output.reasoning_tokens }) }
      : {}),
    ...(lasting === undefined ? {} : { cache_creation: { ephemeral_1h_input_tokens: lasting } }),
  };
}

/**
 * Cache writes that last for 12 hours and cost more. They are reported as Anthropic's writes of one
 * hour, the member from which long writes are read.
 */
function lastingWrites(input: unknown): number | undefined {
  const details = isObject(input) ? input.cache_write_tokens_details : undefined;
  const lasting = isObject(details) ? details.ttl_12h_tokens : undefined;
  return typeof lasting === 'number' && lasting > 0 ? lasting : undefined;
}
