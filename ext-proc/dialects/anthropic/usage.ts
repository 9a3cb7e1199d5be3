import { isObject, type JsonObject, numbersIn } from '#core/json-object.ts';
import { cacheCountsIn } from '../shown-members.ts';
import { servedTier } from './service-tier.ts';

/**
 * Usage in chat's form, in which the prompt includes the tokens that were read from a cache or
 * written to one. An impossible count is left out, and `readUsage` then rejects the usage.
 * `undefined`: there is none.
 */
export function chatUsage(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written, ...otherCounts } = usage;
  const { output_tokens_details: output, cache_creation: creation } = usage;
  const writes = isObject(creation) ? numbersIn(creation) : undefined;
  // The larger count, as in `readUsage`: some report the writes by lifetime alone.
  const byLifetime = sumOf([writes?.ephemeral_5m_input_tokens ?? 0, writes?.ephemeral_1h_input_tokens ?? 0]);
  const mostWritten = Math.max(sumOf([written ?? 0]) ?? Number.NaN, byLifetime ?? Number.NaN);
  const prompt = sumOf([usage.input_tokens, read ?? 0, mostWritten]);
  const completion = sumOf([usage.output_tokens]);
  return {
    ...numbersIn({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: sumOf([prompt, completion]),
      ...cacheCountsIn(otherCounts),
    }),
    prompt_tokens_details: numbersIn({ cached_tokens: read, cache_write_tokens: written }),
    ...(isObject(output) ? { completion_tokens_details: numbersIn({ reasoning_tokens: output.thinking_tokens }) } : {}),
    ...(writes === undefined ? {} : { cache_creation: writes }),
  };
}

/**
 * Usage of a stream so far. Later counts are of the whole message, so they replace earlier ones and
 * are not added to them. Proxies send zeros for counts that they do not repeat, so a zero replaces
 * only the output, whose first count is a guess.
 */
export function mergedUsage(before: JsonObject, more: unknown): JsonObject {
  if (!isObject(more)) return before;
  return replaced(before, more, (known, value) =>
    isObject(value) && isObject(known) ? replaced(known, value, (_, count) => count) : value,
  );
}

function replaced(before: JsonObject, more: JsonObject, by: (known: unknown, value: unknown) => unknown): JsonObject {
  const said = Object.entries(more).filter(([name, value]) => {
    if (value === 0) return before[name] === undefined || name === 'output_tokens';
    return value !== null && value !== undefined;
  });
  return { ...before, ...Object.fromEntries(said.map(([name, value]) => [name, by(before[name], value)])) };
}

/**
 * Usage and tier of a stream that has not ended, as members of a chunk. The output is 0 until it
 * was counted, because the provider's number is a guess before.
 */
export function usageSoFar(usage: JsonObject, isCounted: boolean): JsonObject {
  return { usage: chatUsage(isCounted ? usage : { ...usage, output_tokens: 0 }), ...servedTier(usage) };
}

function sumOf(values: readonly unknown[]): number | undefined {
  let sum = 0;
  for (const value of values) {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) return undefined;
    sum += value;
  }
  return sum;
}
