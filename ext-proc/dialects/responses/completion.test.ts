import fc from 'fast-check';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { describe, expect, test } from 'vitest';
import { parseObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { readResponse } from '../../delivery/response/read-response.ts';
import { expectAccepted, NAMES, testAnyResponse } from '../dialect-checks.fixture.ts';
import { arbitraryResponse } from './arbitrary-response.fixture.ts';
import { RESPONSES } from './responses.ts';
import * as scenarios from './scenarios.fixture.ts';

function completionOf(response: object): ChatCompletion {
  return RESPONSES.response(parseObject(JSON.stringify(response)) ?? {}) as object as ChatCompletion;
}

describe('a whole response', () => {
  test('of text is a chat completion', () => {
    const content = 'In a peaceful grove beneath a silver moon, a "unicorn"\nnamed Lumina 🦄.';
    const message = { role: 'assistant', content, refusal: null } as const;
    expect(completionOf(scenarios.TEXT)).toEqual({
      ...{ id: 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b', object: 'chat.completion' },
      ...{ created: 1741476542, model: 'gpt-6-luna-2026-09-17', service_tier: 'default' },
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: {
        ...{ prompt_tokens: 328, completion_tokens: 52, total_tokens: 380 },
        prompt_tokens_details: { cached_tokens: 128, cache_write_tokens: 64 } as object,
        completion_tokens_details: { reasoning_tokens: 32 },
      },
    } satisfies ChatCompletion);
  });

  test('without a time of creation has the present', () => {
    const before = Math.floor(Date.now() / 1000);
    const { created_at: _, ...response } = scenarios.TEXT;
    const { created } = completionOf(response);
    expect(created).toBeGreaterThanOrEqual(before);
    expect(created).toBeLessThanOrEqual(Date.now() / 1000);
  });

  test('has its calls, reasoning and phase in one message', () => {
    const [choice] = completionOf(scenarios.CALL_AFTER_TEXT).choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls' });
    expect(choice?.message).toEqual({
      role: 'assistant',
      content: 'I look it up.',
      refusal: null,
      phase: 'commentary',
      reasoning_content: 'Which tool?',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } },
        { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'ls -l "a b"' } },
      ],
      reasoning_details: [
        entry(0, 'gAAAAAB-one'),
        { ...entry(2, 'gAAAAAB-two'), summary: ['Which tool?'] },
        entry(4, 'gAAAAAB-three'),
      ],
    });
  });

  const entry = (index: number, data: string) => ({
    ...{ type: 'reasoning.encrypted', format: 'openai-responses-v1', index, data },
    id: expect.stringMatching(/^rs_/),
  });

  test('separates parts of the reasoning and messages by a blank line, and joins parts of a message', () => {
    const messageOf = (response: object) => completionOf(response).choices[0]?.message;
    expect(messageOf(scenarios.PARALLEL_CALLS)).toMatchObject({
      content: null,
      reasoning_content: '**Weather**\n\nBoth cities.\n\n**Tools**\n\nOne call for each.',
    });
    expect(messageOf(scenarios.TWO_MESSAGES)).toMatchObject({ content: 'First.\n\nSecond.', phase: 'final_answer' });
    const remark = { content: '{"a":1}', reasoning_content: 'Preparing.' };
    expect(messageOf(scenarios.REMARK_BEFORE_JSON)).toMatchObject(remark);
    expect(messageOf(scenarios.ONLY_REMARK)).toEqual({
      ...{ role: 'assistant', content: '', refusal: null, reasoning_content: 'Preparing.' },
    });
    expect(messageOf(scenarios.TWO_PARTS)).toMatchObject({ content: '{"a":1}' });
    expect(messageOf(scenarios.OPEN_REASONING)).toMatchObject({
      reasoning_content: 'The user says hello.\n\nI answer.',
      reasoning_details: [{ type: 'reasoning.text', text: 'The user says hello.\n\nI answer.' }],
    });
    const refusal = "I'm sorry, I cannot assist with that.";
    expect(messageOf(scenarios.REFUSAL)).toMatchObject({ content: null, refusal });
  });

  test.each<[string, object, string]>([
    ['complete', scenarios.TEXT, 'stop'],
    ['with calls', scenarios.PARALLEL_CALLS, 'tool_calls'],
    ['cut by the limit', scenarios.CUT_BY_LIMIT, 'length'],
    ['cut within calls', { ...scenarios.PARALLEL_CALLS, status: 'incomplete' }, 'length'],
    ['filtered', scenarios.FILTERED, 'content_filter'],
    [
      'cut for a new reason',
      { ...scenarios.TEXT, status: 'incomplete', incomplete_details: { reason: 'steered' } },
      'length',
    ],
    ['empty', scenarios.EMPTY, 'stop'],
    ['of a server that names no status', { ...scenarios.TEXT, status: undefined }, 'stop'],
  ])('that is %s has a finish reason', (_, response, reason) => {
    expect(completionOf(response).choices[0]?.finish_reason).toBe(reason);
  });

  test('has log probabilities in chat’s form', () => {
    expect(completionOf(scenarios.WITH_LOGPROBS).choices[0]?.logprobs).toEqual({
      content: [
        {
          ...{ token: 'Hi', logprob: -0.25, bytes: [72, 105] },
          top_logprobs: [{ token: 'Yo', logprob: -2.5, bytes: [89, 111] }],
        },
      ],
      refusal: null,
    });
  });

  test('counts long cache writes separately, and omits counts that are not numbers', () => {
    const usage = {
      ...{ input_tokens: 100, output_tokens: 5, total_tokens: 105, cache_read_input_tokens: 7, other_tokens: 3 },
      input_tokens_details: {
        ...{ cached_tokens: null, cache_write_tokens: 90 },
        cache_write_tokens_details: { ttl_12h_tokens: 60, ttl_30m_tokens: 30 },
      },
    };
    expect(completionOf({ ...scenarios.TEXT, usage }).usage).toEqual({
      ...{ prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, cache_read_input_tokens: 7 },
      prompt_tokens_details: { cache_write_tokens: 90 },
      cache_creation: { ephemeral_1h_input_tokens: 60 },
    });
    expect(completionOf({ ...scenarios.TEXT, usage: null })).not.toHaveProperty('usage');
  });
});

describe('the message of a completion is accepted in the next request', () => {
  test.each(Object.entries(scenarios.SCENARIOS))('%s', (_, response) => expectAccepted(RESPONSES, response));

  test('of any response', () => {
    const accepted = fc.property(arbitraryResponse, (response) => expectAccepted(RESPONSES, response));
    fc.assert(accepted, { numRuns: propertyRuns(300) });
  });
});

describe('a response as the rest of the gateway reads it', () => {
  const read = (body: object) => readResponse(JSON.stringify(completionOf(body)), NAMES);

  test('is complete, with its usage', () => {
    expect(read(scenarios.TEXT)).toMatchObject({
      kind: 'response',
      usage: expect.stringContaining('"cache_write_tokens":64'),
      open: expect.stringContaining('"id":"gen-1"'),
    });
  });

  test.each<[string, object, object]>([
    ['a failed one', scenarios.FAILED, { code: 'no_capacity', retry: 'same', result: 'error_body' }],
    ['a cancelled one', { ...scenarios.TEXT, status: 'cancelled' }, { code: 'upstream_error', result: 'error_body' }],
    ['one that is not done', { ...scenarios.TEXT, status: 'queued' }, { code: 'upstream_error', result: 'error_body' }],
  ])('is a failure for %s', (_, body, failure) => {
    expect(read(body)).toMatchObject({ kind: 'failure', ...failure });
  });

  const item = fc.record(
    {
      ...{ type: fc.constantFrom('message', 'reasoning', 'function_call', 'custom_tool_call', 'web_search_call', 7) },
      ...{ content: fc.jsonValue(), summary: fc.jsonValue(), name: fc.jsonValue(), call_id: fc.jsonValue() },
      ...{ arguments: fc.jsonValue(), encrypted_content: fc.jsonValue(), phase: fc.jsonValue(), id: fc.jsonValue() },
    },
    { requiredKeys: ['type'] },
  );
  const part = fc.record({
    ...{ type: fc.constantFrom('output_text', 'refusal', 'summary_text'), text: fc.jsonValue() },
    ...{ refusal: fc.jsonValue(), logprobs: fc.jsonValue() },
  });
  const message = fc.record({ type: fc.constant('message'), content: fc.array(part, { maxLength: 3 }) });
  const response = fc.record(
    {
      ...{ output: fc.array(fc.oneof(item, message, fc.jsonValue()), { maxLength: 4 }), usage: fc.jsonValue() },
      ...{ status: fc.oneof(fc.jsonValue(), fc.constantFrom('completed', 'failed', 'incomplete')), id: fc.jsonValue() },
      ...{
        error: fc.jsonValue(),
        incomplete_details: fc.jsonValue(),
        created_at: fc.jsonValue(),
        model: fc.jsonValue(),
      },
    },
    { requiredKeys: ['output'] },
  );
  testAnyResponse(RESPONSES, response);
});
