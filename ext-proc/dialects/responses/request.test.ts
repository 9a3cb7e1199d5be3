import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LEAST_OUTPUT_TOKENS } from '#core/config/provider-api.ts';
import type { JsonObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import type { SentFields } from '../dialect.ts';
import { bodyBy, SENT, testUnchangedBody } from '../dialect-checks.fixture.ts';
import { arbitraryChat } from './arbitrary-chat.fixture.ts';
import { OFFICIAL_REQUEST } from './official-request.fixture.ts';
import { RESPONSES } from './responses.ts';

const bodyOf = (chat: JsonObject, sent?: Partial<SentFields>) => bodyBy(RESPONSES, chat, sent);

describe('a chat completion as a request to Responses', () => {
  test('has the structure of the official types, for any valid body', () => {
    const sent = fc.record({
      ...{ model: fc.constant('upstream'), outputLimit: fc.integer({ min: 1, max: 1e6 }), stream: fc.boolean() },
      ...{ isReasoning: fc.boolean(), extraFields: fc.constant([]) },
      identities: fc.constantFrom(new Map(), new Map([['user', 'a'.repeat(64)]])),
    });
    fc.assert(
      fc.property(arbitraryChat, sent, (chat, fields) => {
        const translated = RESPONSES.request({ ...chat }, fields);
        if (translated.kind !== 'body') throw new Error(translated.problem);
        const read = OFFICIAL_REQUEST.safeParse(JSON.parse(JSON.stringify(translated.body)));
        expect(read.error).toBeUndefined();
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test('has this form in a small example', () => {
    const chat = { model: 'public', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5, temperature: 0.5 };
    expect(bodyOf(chat)).toEqual({
      model: 'upstream',
      input: [{ type: 'message', role: 'user', content: 'Hi' }],
      store: false,
      max_output_tokens: 1000,
      temperature: 0.5,
    });
  });

  test('has the fields that the gateway sets, and not the client’s values of them', () => {
    const identity = { user: 'alice', safety_identifier: 'bob', prompt_cache_key: 'k' };
    const chat = { ...identity, service_tier: 'flex', top_k: 5, min_p: 1 };
    const identities = new Map([['user', 'f'.repeat(64)]]);
    expect(bodyOf(chat, { identities, serviceTier: 'default', extraFields: ['top_k'], outputLimit: 3 })).toEqual({
      ...{ model: 'upstream', input: [], store: false, service_tier: 'default', user: 'f'.repeat(64), top_k: 5 },
      max_output_tokens: LEAST_OUTPUT_TOKENS.responses,
    });
  });

  test('requests a stream without include_usage', () => {
    expect(bodyOf({ stream: true, stream_options: { include_usage: true } }, { stream: true })).toEqual({
      ...bodyOf({}),
      stream: true,
    });
    expect(bodyOf({ stream_options: { include_obfuscation: false } }, { stream: true })).toMatchObject({
      stream_options: { include_obfuscation: false },
    });
  });

  const include = ['reasoning.encrypted_content'];
  test.each<[string, JsonObject, boolean, JsonObject]>([
    ['no effort, of a model without reasoning', {}, false, {}],
    ['no effort', {}, true, { reasoning: { summary: 'auto' }, include }],
    ['an effort', { reasoning_effort: 'high' }, true, { reasoning: { effort: 'high', summary: 'auto' }, include }],
    ['none', { reasoning_effort: 'none' }, true, { reasoning: { effort: 'none' }, include }],
  ])('requests reasoning: %s', (_, chat, isReasoning, expected) => {
    expect(bodyOf(chat, { isReasoning })).toEqual({ ...bodyOf({}), ...expected });
  });

  const format = { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true };
  const { type: _, ...json_schema } = format;
  const caching = { prompt_cache_options: { ttl: '30m' }, prompt_cache_retention: '24h' };
  const described = { name: 'g', description: 'G.', parameters: { type: 'object' }, strict: true };
  const choice = (type: 'function' | 'custom') => ({ type, [type]: { name: 'f' } });
  const named = (type: 'function' | 'custom') => ({ type, name: 'f' });
  const allowed = (members: object) => ({ type: 'allowed_tools', ...members });
  const grammar = { syntax: 'regex', definition: 'a' };

  test.each<[string, JsonObject, JsonObject]>([
    [
      'log probabilities',
      { logprobs: true, top_logprobs: 3 },
      { include: ['message.output_text.logprobs'], top_logprobs: 3 },
    ],
    ['verbosity', { verbosity: 'low' }, { text: { verbosity: 'low' } }],
    ['a JSON object', { response_format: { type: 'json_object' } }, { text: { format: { type: 'json_object' } } }],
    [
      'a JSON Schema',
      { response_format: { type: 'json_schema', json_schema }, verbosity: 'high' },
      { text: { format, verbosity: 'high' } },
    ],
    ['caching', caching, caching],
    [
      'tools',
      {
        tools: [
          { type: 'function', function: { name: 'f' } },
          { type: 'function', function: described },
          { type: 'custom', custom: { name: 'c', format: { type: 'grammar', grammar } } },
        ],
        parallel_tool_calls: false,
      },
      {
        tools: [
          {
            ...{ type: 'function', name: 'f', strict: false },
            parameters: { type: 'object', properties: {}, additionalProperties: false },
          },
          { type: 'function', ...described },
          { type: 'custom', name: 'c', format: { type: 'grammar', ...grammar } },
        ],
        parallel_tool_calls: false,
      },
    ],
    ['no tools', { tools: [], tool_choice: 'none' }, { tool_choice: 'none' }],
    ['one tool', { tool_choice: choice('function') }, { tool_choice: { type: 'function', name: 'f' } }],
    ['one custom tool', { tool_choice: choice('custom') }, { tool_choice: { type: 'custom', name: 'f' } }],
    [
      'some tools',
      { tool_choice: allowed({ allowed_tools: { mode: 'required', tools: [choice('function'), choice('custom')] } }) },
      { tool_choice: allowed({ mode: 'required', tools: [named('function'), named('custom')] }) },
    ],
  ])('requests %s', (_, chat, expected) => {
    expect(bodyOf(chat)).toEqual({ ...bodyOf({}), ...expected });
  });

  test('leaves out what has no counterpart', () => {
    const penalties = { presence_penalty: 1, frequency_penalty: 1, logit_bias: { 1: 2 } };
    const others = { stop: 'x', seed: 1, metadata: { a: 'b' }, prediction: { type: 'content', content: 'x' } };
    const more = { store: true, n: 1, modalities: ['text'], max_completion_tokens: 7 };
    expect(bodyOf({ ...penalties, ...others, ...more })).toEqual(bodyOf({}));
  });

  test('cannot express several completions', () => {
    expect(RESPONSES.request({ messages: [], n: 2 }, SENT)).toMatchObject({ kind: 'unsayable', param: 'n' });
  });

  testUnchangedBody(RESPONSES, arbitraryChat);
});
