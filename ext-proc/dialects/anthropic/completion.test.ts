import fc from 'fast-check';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { describe, expect, test } from 'vitest';
import { parseObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { readResponse } from '../../delivery/response/read-response.ts';
import { expectAccepted, NAMES, testAnyResponse } from '../dialect-checks.fixture.ts';
import { ANTHROPIC } from './anthropic.ts';
import { arbitraryMessage } from './arbitrary-message.fixture.ts';
import * as scenarios from './scenarios.fixture.ts';
import { mergedUsage } from './usage.ts';

function completionOf(message: object): ChatCompletion {
  return ANTHROPIC.response(parseObject(JSON.stringify(message)) ?? {}) as object as ChatCompletion;
}

describe('a whole message', () => {
  test('of text is a chat completion', () => {
    const before = Math.floor(Date.now() / 1000);
    const { created, ...completion } = completionOf(scenarios.TEXT);
    expect(created).toBeGreaterThanOrEqual(before);
    expect(created).toBeLessThanOrEqual(Date.now() / 1000);
    const content = 'In a peaceful grove beneath a silver moon, a "unicorn"\nnamed Lumina 🦄.';
    const message = { role: 'assistant', content, refusal: null } as const;
    expect(completion).toEqual({
      ...{ id: 'msg_01XFDUDYJgAACzvnptvVoYEL', object: 'chat.completion', model: 'claude-sonnet-5-5' },
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: {
        ...{ prompt_tokens: 2400, completion_tokens: 52, total_tokens: 2452 },
        prompt_tokens_details: { cached_tokens: 2000, cache_write_tokens: 300 } as object,
        completion_tokens_details: { reasoning_tokens: 32 },
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
      } as object as ChatCompletion['usage'] & object,
      service_tier: 'default',
    } satisfies Omit<ChatCompletion, 'created'>);
  });

  const messageOf = (message: object) => completionOf(message).choices[0]?.message;

  test('has its calls and thinking, with signatures, in one message', () => {
    expect(messageOf(scenarios.INTERLEAVED)).toEqual({
      role: 'assistant',
      content: 'I look it up.',
      refusal: null,
      reasoning_content: 'First thoughts.\n\nWhich tool?',
      tool_calls: [
        {
          id: 'toolu_01',
          type: 'function',
          function: { name: 'search', arguments: '{"query":"a \\"b\\"","limit":3}' },
        },
      ],
      reasoning_details: [
        { ...entry(0), type: 'reasoning.text', text: 'First thoughts.', signature: 'sig-one' },
        { ...entry(1), type: 'reasoning.encrypted', data: 'EmwKAhgBEgy3va3pzix' },
        { ...entry(3), type: 'reasoning.text', text: 'Which tool?', signature: 'sig-two' },
      ],
    });
  });

  const entry = (index: number) => ({ format: 'anthropic-claude-v1', index });

  test.each<[string, object, object]>([
    ['that is cited', scenarios.CITED, { content: 'According to the paper, grass is green.' }],
    ['that thinking divides', scenarios.TWO_TEXTS, { content: 'First.\n\nSecond.', reasoning_content: 'Hm.' }],
    ['that a tool of the server divides', scenarios.WITH_SERVER_TOOL, { content: 'I search.\n\nFound.' }],
    [
      'after thinking that is not shown',
      scenarios.OMITTED_THINKING,
      { content: 'Hello.', reasoning_details: [{ text: '', signature: 'sig-only' }] },
    ],
    ['that was refused', scenarios.REFUSED, { content: 'In a', refusal: 'This could enable cyber harm.' }],
    ['that is missing', scenarios.EMPTY, { content: '', refusal: null }],
  ])('has text %s', (_, message, expected) => {
    expect(messageOf(message)).toMatchObject(expected);
  });

  test('has no entry for thinking without a signature, which could not be sent back', () => {
    expect(messageOf(scenarios.CUT_THINKING)).toEqual({
      ...{ role: 'assistant', content: '', refusal: null, reasoning_content: 'Long thoughts' },
    });
  });

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'stop'],
    ['something_new', 'stop'],
    [null, 'tool_calls'],
  ])('with the stop reason %s has the finish reason %s', (stop_reason, reason) => {
    const message = { ...scenarios.PARALLEL_CALLS, stop_reason };
    expect(completionOf(message).choices[0]?.finish_reason).toBe(reason);
  });

  test('of a server without stop reasons has the finish reason stop', () => {
    expect(completionOf({ content: [] }).choices[0]?.finish_reason).toBe('stop');
  });
});

describe('usage of a stream so far', () => {
  const START = {
    ...{ input_tokens: 8, output_tokens: 1, cache_read_input_tokens: 5, service_tier: 'standard' },
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 2 },
  };

  test('loses nothing to zeros and nulls of counts that are not repeated', () => {
    const creation = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };
    const end = { input_tokens: 0, cache_read_input_tokens: null, cache_creation: creation, service_tier: null };
    expect(mergedUsage(START, { ...end, output_tokens: 9 })).toEqual({ ...START, output_tokens: 9 });
  });

  test('has later counts, and no output where there was none', () => {
    const end = { input_tokens: 6, output_tokens: 0, cache_creation: { ephemeral_5m_input_tokens: 3 }, more: 0 };
    const cache_creation = { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 };
    expect(mergedUsage(START, end)).toEqual({ ...START, ...end, cache_creation });
    expect(mergedUsage(START, 'none')).toBe(START);
  });
});

describe('usage', () => {
  const usageOf = (usage: unknown) => completionOf({ ...scenarios.TEXT, usage }).usage;

  test.each<[string, object, object]>([
    [
      'without caching',
      { input_tokens: 7, output_tokens: 5, cache_read_input_tokens: null, cache_creation: null },
      { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12, prompt_tokens_details: {} },
    ],
    [
      'with writes of five minutes',
      { input_tokens: 7, output_tokens: 5, cache_creation_input_tokens: 3 },
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, prompt_tokens_details: { cache_write_tokens: 3 } },
    ],
    [
      'with an impossible count, which is not hidden in a sum',
      { input_tokens: 7, output_tokens: 5, cache_read_input_tokens: -3 },
      { completion_tokens: 5, prompt_tokens_details: { cached_tokens: -3 } },
    ],
    ['without counts', { input_tokens: '7' }, { prompt_tokens_details: {} }],
    [
      'with a count about a cache that no rule knows',
      { input_tokens: 7, output_tokens: 5, cache_magic_tokens: 3, other_tokens: 4 },
      { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12, prompt_tokens_details: {}, cache_magic_tokens: 3 },
    ],
  ])('%s', (_, usage, expected) => {
    expect(usageOf(usage)).toEqual(expected);
  });

  test.each<[object, number | undefined]>([
    [{ cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 } }, 12],
    [{ cache_creation_input_tokens: 1, cache_creation: { ephemeral_1h_input_tokens: 2 } }, 9],
    [{ cache_creation_input_tokens: 3, cache_creation: { ephemeral_1h_input_tokens: 2 } }, 10],
    [{ cache_creation: { ephemeral_5m_input_tokens: -3 } }, undefined],
  ])('has a prompt with the larger count of cache writes: %j', (writes, prompt) => {
    expect(usageOf({ input_tokens: 7, output_tokens: 5, ...writes })?.prompt_tokens).toBe(prompt);
  });

  test('is absent if it is missing', () => {
    expect(completionOf({ ...scenarios.TEXT, usage: null })).not.toHaveProperty('usage');
  });

  test.each([
    [{ service_tier: 'standard' }, 'default'],
    [{ service_tier: 'priority' }, 'priority'],
    [{ service_tier: 'batch', speed: 'standard' }, 'batch'],
    [{ service_tier: 'standard', speed: 'fast' }, 'fast'],
    [{ service_tier: null }, undefined],
  ])('of %o reports the tier %s', (usage, tier) => {
    expect(completionOf({ ...scenarios.TEXT, usage }).service_tier).toBe(tier);
  });
});

describe('the message of a completion is accepted in the next request', () => {
  test.each(Object.entries(scenarios.SCENARIOS))('%s', (_, message) => expectAccepted(ANTHROPIC, message));

  test('of any message', () => {
    const accepted = fc.property(arbitraryMessage, (message) => expectAccepted(ANTHROPIC, message));
    fc.assert(accepted, { numRuns: propertyRuns(300) });
  });
});

describe('a message as the rest of the gateway reads it', () => {
  const read = (body: object) => readResponse(JSON.stringify(completionOf(body)), NAMES);

  test('is complete, with its usage', () => {
    expect(read(scenarios.TEXT)).toMatchObject({
      kind: 'response',
      usage: expect.stringContaining('"cache_write_tokens":300'),
      open: expect.stringContaining('"id":"gen-1"'),
    });
  });

  test.each<[string, object, object]>([
    [
      'an error',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { code: 'no_capacity', retry: 'same', result: 'error_body' },
    ],
  ])('is a failure for %s', (_, body, failure) => {
    expect(read(body)).toMatchObject({ kind: 'failure', ...failure });
  });

  const types = ['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 7];
  const block = fc.record(
    {
      ...{ type: fc.constantFrom(...types), text: fc.jsonValue(), thinking: fc.jsonValue(), input: fc.jsonValue() },
      ...{ signature: fc.jsonValue(), data: fc.jsonValue(), id: fc.jsonValue(), name: fc.jsonValue() },
    },
    { requiredKeys: ['type'] },
  );
  const message = fc.record(
    {
      content: fc.array(fc.oneof(block, fc.jsonValue()), { maxLength: 4 }),
      ...{ usage: fc.jsonValue(), stop_reason: fc.jsonValue(), stop_details: fc.jsonValue(), id: fc.jsonValue() },
      ...{ error: fc.jsonValue(), type: fc.oneof(fc.constant('error'), fc.jsonValue()), model: fc.jsonValue() },
    },
    { requiredKeys: ['content'] },
  );
  testAnyResponse(ANTHROPIC, message);
});
