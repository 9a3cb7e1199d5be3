import { describe, expect, test } from 'vitest';
import { hasUnreadCache } from './usage.ts';

describe('a count about a cache that no rule reads', () => {
  const DETAILS = { cached_tokens: 4, cache_write_tokens: 4, cache_creation_tokens: 4, cache_read_tokens: 4 };
  const OF_INPUT = { cached_tokens: 4, cache_write_tokens: 4 };
  const LIFETIMES = { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 4 };

  test.each<[string, object]>([
    ['at the top', { cache_magic_tokens: 1 }],
    ['in another style', { cacheReadInputTokens: 1 }],
    ['in details', { prompt_tokens_details: { cached_prompt_tokens: 1 } }],
    ['of another lifetime', { cache_creation: { ephemeral_24h_input_tokens: 1 } }],
    ['of another lifetime in details', { prompt_tokens_details: { cache_creation: { days: { one: 1 } } } }],
    ['with a name of elsewhere', { cache_write_tokens: 1 }],
    ['under a name that means something to an engine', JSON.parse('{"__proto__":{"cached":1}}')],
  ])('is found %s', (_, usage) => expect(hasUnreadCache({ prompt_tokens: 9, ...usage })).toBe(true));

  test.each<[string, unknown]>([
    ['none', { prompt_tokens: 9, completion_tokens: 8, total_tokens: 17 }],
    [
      'all that are read',
      {
        ...{ cached_tokens: 4, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 5, cache_read_input_tokens: 4 },
        ...{ cache_creation_input_tokens: 4, cache_creation: LIFETIMES, input_tokens_details: OF_INPUT },
        prompt_tokens_details: {
          ...{ ...DETAILS, cache_creation_input_tokens: 4, cache_creation: LIFETIMES },
          cache_creation_token_details: LIFETIMES,
        },
      },
    ],
    ['none in a count of nothing', { cache_magic_tokens: 0, cache_more: null }],
    ['none in a word', { prompt_tokens_details: { cache_type: 'ephemeral', is_cached: true } }],
    ['none in a price', { cache_discount: 0.002, cost_details: { cache: -1 } }],
    ['none in other numbers', { prompt_tokens_details: { audio_tokens: 5 } }],
    ['none where there is no usage', null],
  ])('is not found: %s', (_, usage) => expect(hasUnreadCache(usage)).toBe(false));

  test('is searched only to the depth of a usage', () => {
    let deep: object = { cache: 1 };
    for (let level = 0; level < 100_000; level++) deep = { a: deep };
    expect(hasUnreadCache(deep)).toBe(false);
  });
});
