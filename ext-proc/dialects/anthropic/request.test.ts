import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import type { SentFields } from '../dialect.ts';
import { bodyBy, SENT, testUnchangedBody } from '../dialect-checks.fixture.ts';
import { arbitraryChat } from '../responses/arbitrary-chat.fixture.ts';
import { ANTHROPIC } from './anthropic.ts';
import { OFFICIAL_REQUEST } from './official-request.fixture.ts';

const bodyOf = (chat: JsonObject, sent?: Partial<SentFields>) => bodyBy(ANTHROPIC, chat, sent);

const TOOLS = [{ type: 'function', function: { name: 'f' } }];
const budgets = new Map(Object.entries({ low: 1024, medium: 8192, high: 24_576 }));

const format = (schema: JsonObject) => ({ output_config: { format: { type: 'json_schema', schema } } });

describe('a chat completion as a request to Messages', () => {
  test('has the structure of the official types, for any valid body', () => {
    const sent = fc.record(
      {
        ...{ model: fc.constant('upstream'), outputLimit: fc.integer({ min: 1, max: 1e5 }) },
        ...{ stream: fc.boolean(), isReasoning: fc.boolean(), extraFields: fc.constant([]) },
        identities: fc.constantFrom(new Map(), new Map([['user', 'a'.repeat(64)]])),
        ...{ reasoningBudgets: fc.constant(budgets), serviceTier: fc.constantFrom('default', 'priority', 'fast') },
      },
      { requiredKeys: ['model', 'outputLimit', 'stream', 'isReasoning', 'extraFields', 'identities'] },
    );
    fc.assert(
      fc.property(arbitraryChat, sent, fc.boolean(), ({ tools = [], ...chat }, fields, hasCustom) => {
        const sayable = hasCustom ? tools : tools.filter(({ type }) => type === 'function');
        const translated = ANTHROPIC.request({ ...chat, tools: sayable }, fields);
        if (translated.kind !== 'body') {
          expect(translated.param).toMatch(/^tools\[\d\]\.type$|^tool_choice\.type$/);
          expect(JSON.stringify([sayable, chat.tool_choice])).toContain('"custom"');
          return;
        }
        const read = OFFICIAL_REQUEST.safeParse(JSON.parse(JSON.stringify(translated.body)));
        expect(read.error).toBeUndefined();
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  test('has this form in a small example', () => {
    const chat = { model: 'public', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5, temperature: 0.5 };
    expect(bodyOf(chat)).toEqual({
      model: 'upstream',
      max_tokens: 1000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      temperature: 0.5,
    });
  });

  test('has the fields that the gateway sets, and not the client’s values of them', () => {
    const chat = { user: 'alice', prompt_cache_key: 'k', service_tier: 'flex', top_k: 5, min_p: 1 };
    const identities = new Map(Object.entries({ user: 'f'.repeat(64), prompt_cache_key: 'e'.repeat(64) }));
    expect(bodyOf(chat, { identities, serviceTier: 'default', extraFields: ['top_k'], stream: true })).toEqual({
      ...{ model: 'upstream', max_tokens: 1000, messages: [], stream: true, top_k: 5 },
      ...{ service_tier: 'standard_only', metadata: { user_id: 'f'.repeat(64) } },
    });
    const both = new Map([...identities, ['safety_identifier', 'd'.repeat(64)]]);
    expect(bodyOf({}, { identities: both })).toMatchObject({ metadata: { user_id: 'd'.repeat(64) } });
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['a temperature above 1', { temperature: 1.7 }, { temperature: 1 }],
    ['a share', { top_p: 0.9 }, { top_p: 0.9 }],
    ['both', { temperature: 0, top_p: 0.9 }, { temperature: 0, top_p: 0.9 }],
    ['one stop', { stop: 'END' }, { stop_sequences: ['END'] }],
    ['stops', { stop: ['END', '\n', '', ' x'] }, { stop_sequences: ['END', ' x'] }],
    ['stops of white space', { stop: ['\n\n'] }, {}],
    ['no tools', { tools: [], tool_choice: 'none', parallel_tool_calls: false }, {}],
    ['text', { response_format: { type: 'text' } }, {}],
    ['a JSON object', { response_format: { type: 'json_object' } }, format({ type: 'object' })],
    [
      'a JSON Schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: { $ref: '#' } } } },
      format({ $ref: '#' }),
    ],
    [
      'a JSON Schema that is open',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { properties: {} } } } },
      format({ properties: {}, additionalProperties: false }),
    ],
    [
      'a JSON Schema that is missing',
      { response_format: { type: 'json_schema', json_schema: { name: 'a' } } },
      format({ type: 'object' }),
    ],
  ])('requests %s', (_, chat, expected) => {
    expect(bodyOf(chat)).toEqual({ ...bodyOf({}), ...expected });
  });

  test.each([
    ['default', { service_tier: 'standard_only' }],
    ['priority', { service_tier: 'auto' }],
    ['fast', { speed: 'fast' }],
  ])('requests the tier %s', (serviceTier, expected) => {
    expect(bodyOf({}, { serviceTier })).toEqual({ ...bodyOf({}), ...expected });
  });

  test('leaves out what has no counterpart', () => {
    const penalties = { presence_penalty: 1, frequency_penalty: 1, logit_bias: { 1: 2 }, seed: 1, verbosity: 'low' };
    const others = { metadata: { a: 'b' }, prediction: { type: 'content', content: 'x' }, store: true, logprobs: true };
    const caching = { prompt_cache_options: { mode: 'explicit' }, prompt_cache_retention: '24h' };
    const more = { n: 1, modalities: ['text'], max_completion_tokens: 7, top_logprobs: 2, stream_options: {} };
    expect(bodyOf({ ...penalties, ...others, ...caching, ...more })).toEqual(bodyOf({}));
  });

  test.each<[string, JsonObject, Partial<SentFields>]>([
    ['n', { n: 2 }, {}],
    ['service_tier', {}, { serviceTier: 'flex' }],
    ['tools[1].type', { tools: [...TOOLS, { type: 'custom', custom: { name: 'c' } }] }, {}],
    ['tool_choice.type', { tool_choice: { type: 'custom', custom: { name: 'c' } } }, {}],
  ])('cannot express parts of %s', (param, chat, sent) => {
    const translated = ANTHROPIC.request({ messages: [], ...chat }, { ...SENT, ...sent });
    expect(translated).toMatchObject({ kind: 'unsayable', param, problem: expect.stringContaining(param) });
  });

  testUnchangedBody(ANTHROPIC, arbitraryChat);
});

const CALL = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
};
const THOUGHT = { type: 'reasoning.text', text: 'Hm.', signature: 'sig', format: 'anthropic-claude-v1', index: 0 };
const RESULT = { role: 'tool', tool_call_id: 'call_1', content: 'done' };

describe('thinking', () => {
  const ADAPTIVE = { type: 'adaptive', display: 'summarized' };

  test.each<[string, JsonObject, JsonObject]>([
    ['no effort', {}, {}],
    ['none', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['minimal', { reasoning_effort: 'minimal' }, { thinking: ADAPTIVE, output_config: { effort: 'low' } }],
    ['max', { reasoning_effort: 'max' }, { thinking: ADAPTIVE, output_config: { effort: 'max' } }],
    [
      'high, and JSON',
      { reasoning_effort: 'high', response_format: { type: 'json_object' } },
      { thinking: ADAPTIVE, output_config: { effort: 'high', ...format({ type: 'object' }).output_config } },
    ],
  ])('is requested by effort: %s', (_, chat, expected) => {
    expect(bodyOf(chat, { isReasoning: true })).toEqual({ ...bodyOf({}), ...expected });
  });

  test.each<[string, number, JsonObject]>([
    ['low', 5000, { budget_tokens: 1024 }],
    ['medium', 10_000, { budget_tokens: 8192 }],
    ['high', 4096, { budget_tokens: 4095 }],
  ])('is requested by budget: %s of %i', (effort, outputLimit, expected) => {
    const { thinking, output_config } = bodyOf(
      { reasoning_effort: effort },
      { outputLimit, reasoningBudgets: budgets },
    );
    expect(thinking).toEqual({ type: 'enabled', ...expected });
    expect(output_config).toBeUndefined();
  });

  test.each<[string, JsonObject, number]>([
    ['with too small an output limit', { reasoning_effort: 'low' }, 1024],
    ['with an effort that has no budget', { reasoning_effort: 'max' }, 5000],
    ['beside a tool that must be called', { reasoning_effort: 'low', tools: TOOLS, tool_choice: 'required' }, 5000],
    ['after a call without thinking', { reasoning_effort: 'low', tools: TOOLS, messages: [CALL, RESULT] }, 5000],
  ])('by budget is not requested %s', (_, chat, outputLimit) => {
    const sent = { outputLimit, reasoningBudgets: budgets };
    expect(bodyOf({ ...chat, temperature: 0.5 }, sent)).toMatchObject({ temperature: 0.5 });
    expect(bodyOf(chat, sent)).not.toHaveProperty('thinking');
  });

  test('is requested by budget only after a call with thinking, and by effort after any call', () => {
    const messages = [{ ...CALL, reasoning_details: [THOUGHT] }, RESULT];
    const sent = { outputLimit: 5000, reasoningBudgets: budgets };
    expect(bodyOf({ reasoning_effort: 'low', messages }, sent)).toMatchObject({ thinking: { type: 'enabled' } });
    expect(bodyOf({ reasoning_effort: 'low', messages: [CALL, RESULT] })).toMatchObject({ thinking: ADAPTIVE });
  });

  test('excludes sampling parameters', () => {
    const chat = { reasoning_effort: 'high', temperature: 0.5, top_p: 0.5, top_k: 5, min_p: 1 };
    const body = bodyOf(chat, { extraFields: ['top_k', 'min_p'] });
    expect(Object.keys(body)).toEqual(['model', 'max_tokens', 'messages', 'thinking', 'output_config', 'min_p']);
    const without = bodyOf({ ...chat, reasoning_effort: 'none' }, { extraFields: ['top_k'] });
    expect(without).toMatchObject({ temperature: 0.5, top_k: 5 });
  });
});
