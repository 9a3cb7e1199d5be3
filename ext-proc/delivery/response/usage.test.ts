import { describe, expect, test } from 'vitest';
import { NO_USAGE } from '#core/pricing.ts';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { hasUnreadCache, readUsage, totalMismatch, usageJson } from './usage.ts';

const BOUNDS = { contextWindow: 1000, completions: 2 };

const COUNTS = { prompt_tokens: 10, completion_tokens: 8 };
const CHARGED = { ...NO_USAGE, promptTokens: 10, completionTokens: 8 };

describe('a usage that a provider sent', () => {
  test('is read with its details', () => {
    const usage = {
      ...{ ...COUNTS, total_tokens: 18, completion_tokens_details: { reasoning_tokens: 5 } },
      prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
    };
    expect(readUsage(usage, BOUNDS)).toEqual({ ...CHARGED, cachedTokens: 4, reasoningTokens: 5 });
  });

  test('may lack details or have them null', () => {
    for (const prompt_tokens_details of [null, { cached_tokens: null }]) {
      const usage = { prompt_tokens: 10, completion_tokens: 0, prompt_tokens_details };
      expect(readUsage(usage, BOUNDS)).toEqual({ ...NO_USAGE, promptTokens: 10 });
    }
  });

  test.each([
    ['as Moonshot', { cached_tokens: 4 }, 4],
    ['as DeepSeek', { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 }, 4],
    ['in details, which decide', { prompt_tokens_details: { cached_tokens: 3 }, cached_tokens: 4 }, 3],
    ['beside details that do not say', { prompt_tokens_details: { text_tokens: 10 }, cached_tokens: 4 }, 4],
    ['as a proxy of Anthropic', { cache_read_input_tokens: 4 }, 4],
    [
      'as a proxy of Anthropic, and otherwise in details, which decide',
      { prompt_tokens_details: { cached_tokens: 0 }, cache_read_input_tokens: 4 },
      0,
    ],
    ['as a relay of Responses', { input_tokens_details: { cached_tokens: 4 } }, 4],
    ['in details under another name', { prompt_tokens_details: { cached_tokens: null, cache_read_tokens: 4 } }, 4],
    ['nowhere', { cached_tokens: null, prompt_cache_hit_tokens: null, cache_read_input_tokens: null }, 0],
  ])('reports cached tokens %s', (_, cached, cachedTokens) => {
    expect(readUsage({ ...COUNTS, ...cached }, BOUNDS)).toMatchObject({ cachedTokens });
  });

  const SHORT = { ephemeral_5m_input_tokens: 4 };
  const LONG = { ephemeral_1h_input_tokens: 4 };
  const BOTH = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 4 };
  const inDetails = (prompt_tokens_details: object) => ({ prompt_tokens_details });

  test.each([
    ['as OpenAI', inDetails({ cache_write_tokens: 4 }), 4, 0],
    ['as LiteLLM', inDetails({ cache_creation_tokens: 4 }), 4, 0],
    ['as Anthropic', { cache_creation_input_tokens: 4 }, 4, 0],
    [
      'under every name',
      { ...inDetails({ cache_write_tokens: 4, cache_creation_tokens: 4 }), cache_creation_input_tokens: 4 },
      4,
      0,
    ],
    ['of an hour', { cache_creation_input_tokens: 6, cache_creation: BOTH }, 6, 4],
    ['of an hour alone', { cache_creation: LONG }, 4, 4],
    ['of five minutes and of an hour, without their sum', { cache_creation: BOTH }, 6, 4],
    [
      'as DashScope',
      inDetails({
        ...{ cached_tokens: 0, cache_creation_input_tokens: 4, cache_type: 'ephemeral', cache_creation: SHORT },
      }),
      4,
      0,
    ],
    ['as DashScope, without the parts', inDetails({ cache_creation_input_tokens: 4 }), 4, 0],
    ['as DashScope, without the sum', inDetails({ cache_creation: SHORT }), 4, 0],
    ['as DashScope, of an hour', inDetails({ cache_creation_input_tokens: 6, cache_creation: BOTH }), 6, 4],
    [
      'as LiteLLM, of an hour',
      {
        ...inDetails({ cache_creation_tokens: 6, cache_creation_token_details: BOTH }),
        cache_creation_input_tokens: 6,
      },
      6,
      4,
    ],
    [
      'of an hour at each place, counted once',
      { ...inDetails({ cache_creation: LONG, cache_creation_token_details: LONG }), cache_creation: LONG },
      4,
      4,
    ],
    ['nowhere', { ...inDetails({ cache_write_tokens: null }), cache_creation: null }, 0, 0],
  ])('reports cache writes %s', (_, written, cacheWriteTokens, cacheWrite1hTokens) => {
    expect(readUsage({ ...COUNTS, ...written }, BOUNDS)).toMatchObject({
      promptTokens: 10,
      cacheWriteTokens,
      cacheWrite1hTokens,
    });
  });

  test('has reasoning added to the completion if the total shows that it is separate', () => {
    const usage = { ...COUNTS, total_tokens: 118, completion_tokens_details: { reasoning_tokens: 100 } };
    expect(readUsage(usage, BOUNDS)).toMatchObject({ completionTokens: 108, reasoningTokens: 100 });
  });

  test.each([
    ['nothing about reasoning', undefined, 405],
    ['less reasoning than the difference', 12, 405],
    ['more reasoning than the difference', 500, 500],
  ])('has thinking that only the total shows, with %s', (_, reported, reasoningTokens) => {
    const usage = {
      ...{ prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 },
      completion_tokens_details: { reasoning_tokens: reported },
    };
    expect(readUsage(usage, BOUNDS)).toEqual({ ...NO_USAGE, promptTokens: 20, completionTokens: 603, reasoningTokens });
    expect(totalMismatch(usage)).toBe('above');
  });

  const CACHE = { cache_read_input_tokens: 30, cache_creation_input_tokens: 12 };

  test.each([
    ['reads', 30],
    ['writes', 12],
    ['both', 42],
  ])('has a prompt without its %s if the total shows that they are separate', (_, missing) => {
    const usage = { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55 + missing, ...CACHE };
    expect(readUsage(usage, BOUNDS)).toEqual({
      ...{ ...NO_USAGE, promptTokens: 50 + missing, completionTokens: 5 },
      ...{ cachedTokens: 30, cacheWriteTokens: 12 },
    });
  });

  test('may have fewer tokens of the prompt than of the cache', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 50, ...CACHE };
    expect(readUsage(usage, BOUNDS)).toMatchObject({ promptTokens: 45, completionTokens: 5 });
  });

  test('has as much reasoning as it says, though the cache has as many tokens', () => {
    const usage = { prompt_tokens: 50, completion_tokens: 5, total_tokens: 85, ...CACHE };
    const details = { completion_tokens_details: { reasoning_tokens: 30 } };
    expect(readUsage({ ...usage, ...details }, BOUNDS)).toMatchObject({ promptTokens: 50, completionTokens: 35 });
  });

  test('may have an invalid total, which is ignored', () => {
    for (const total_tokens of [null, 'many', -1, 1.5]) {
      const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens };
      expect(readUsage(usage, BOUNDS)?.completionTokens).toBe(5);
      expect(totalMismatch(usage)).toBeUndefined();
    }
  });

  const ONE = { prompt_tokens: 1, completion_tokens: 1 };
  const NINE = { prompt_tokens: 9, completion_tokens: 1 };

  test.each([
    ['no object', 'x'],
    ['an array', []],
    ['null', null],
    ['a number missing', { prompt_tokens: 1 }],
    ['a negative number', { prompt_tokens: 1, completion_tokens: -1 }],
    ['a fraction', { prompt_tokens: 1.5, completion_tokens: 1 }],
    ['a text', { prompt_tokens: '1', completion_tokens: 1 }],
    ['an unsafe integer', { prompt_tokens: 1, completion_tokens: 1e20 }],
    ['no prompt', { prompt_tokens: 0, completion_tokens: 1 }],
    ['more cached than read', { ...ONE, ...inDetails({ cached_tokens: 2 }) }],
    ['more cached at the top than read', { ...ONE, cached_tokens: 2 }],
    ['cached tokens that are a text', { ...ONE, prompt_cache_hit_tokens: '1' }],
    ['more cached and written than read', { ...NINE, ...inDetails({ cached_tokens: 5, cache_write_tokens: 5 }) }],
    ['writes of five minutes that are a text', { ...NINE, cache_creation: { ephemeral_5m_input_tokens: '1' } }],
    [
      'negative writes of an hour in details',
      { ...NINE, ...inDetails({ cache_creation_token_details: { ephemeral_1h_input_tokens: -1 } }) },
    ],
    ['cache writes that are a text', { ...NINE, cache_creation_input_tokens: '1' }],
    ['more writes of an hour than read', { ...NINE, cache_creation: { ephemeral_1h_input_tokens: 10 } }],
    ['negative cached', { ...ONE, ...inDetails({ cached_tokens: -1 }) }],
    ['more reasoning than output', { ...ONE, completion_tokens_details: { reasoning_tokens: 2 } }],
    ['a total below its parts', { prompt_tokens: 9, completion_tokens: 9, total_tokens: 17 }],
    ['an absurd total', { prompt_tokens: 9, completion_tokens: 9, total_tokens: 20_010 }],
    ['an absurd prompt', { prompt_tokens: 10_001, completion_tokens: 1 }],
    ['an absurd output', { prompt_tokens: 1, completion_tokens: 20_001 }],
  ])('is rejected with %s', (_, usage) => {
    expect(readUsage(usage, BOUNDS)).toBeUndefined();
  });
});

describe('the usage that the client is shown', () => {
  const COUNTED = '"prompt_tokens":10,"completion_tokens":8,"total_tokens":18';

  test("keeps the provider's other fields and has the cost", () => {
    const text = `{${COUNTED},"prompt_tokens_details":{"cached_tokens":0},"cost":99}`;
    expect(usageJson(text, CHARGED, 0.00025)).toBe(text.replace('99', '0.00025'));
  });

  test.each([
    [
      '"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0}',
      '"completion_tokens_details":{"reasoning_tokens":6,"audio_tokens":0}',
    ],
    ['"completion_tokens_details":null', '"completion_tokens_details":{"reasoning_tokens":6}'],
    ['"cached_tokens":1', '"cached_tokens":1,"completion_tokens_details":{"reasoning_tokens":6}'],
  ])('has the reasoning that was charged in %s', (sent, shown) => {
    const shownUsage = usageJson(`{${COUNTED},${sent}}`, { ...CHARGED, reasoningTokens: 6 }, 0);
    expect(shownUsage).toBe(`{${COUNTED},${shown},"cost":0}`);
  });

  test('has the cached tokens that were charged, wherever they were reported', () => {
    expect(usageJson(`{${COUNTED},"cached_tokens":4}`, { ...CHARGED, cachedTokens: 4 }, 0)).toBe(
      `{${COUNTED},"cached_tokens":4,"prompt_tokens_details":{"cached_tokens":4},"cost":0}`,
    );
  });

  test('has the cache writes that were charged, wherever they were reported', () => {
    const written = { ...CHARGED, cachedTokens: 3, cacheWriteTokens: 4, cacheWrite1hTokens: 2 };
    const sent = `{${COUNTED},"cache_creation_input_tokens":4,"prompt_tokens_details":{"cached_tokens":3}}`;
    expect(JSON.parse(usageJson(sent, written, 0))).toMatchObject({
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 4 },
    });
  });

  test('takes time in proportion to its members, however many a provider sends', () => {
    const sent = JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`n${index}`, index])));
    let shown = '';
    const tookMs = cpuMsOf(() => {
      shown = usageJson(sent, CHARGED, 0);
    });
    expect(shown).toBe(`{${COUNTED},"cost":0}`);
    expect(tookMs).toBeLessThan(1000);
  });

  test('is made from the counted tokens if the provider sent none', () => {
    expect(JSON.parse(usageJson(undefined, CHARGED, 0))).toEqual({ ...COUNTS, total_tokens: 18, cost: 0 });
  });
});

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
