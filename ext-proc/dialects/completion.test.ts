import { expect, test } from 'vitest';
import { asCompletion, textOf } from './completion.ts';

const USAGE = { prompt_tokens: 10, completion_tokens: 8 };

test('a usage in the first choice counts unless the chunk has its own', () => {
  const choices = [{ index: 0, delta: {}, finish_reason: 'stop', usage: USAGE }];
  expect(asCompletion({ choices })).toEqual({ choices, usage: USAGE });
  expect(asCompletion({ choices, usage: null })).toEqual({ choices, usage: USAGE });
  const own = { choices, usage: { ...USAGE, completion_tokens: 9 } };
  expect(asCompletion(own)).toBe(own);
  const without = { choices: [{ index: 0, usage: 'none' }, null] };
  expect(asCompletion(without)).toBe(without);
});

test('usages of several choices share their prompt', () => {
  const reasoning = { completion_tokens_details: { reasoning_tokens: 3 } };
  const usages = [
    { ...USAGE, ...reasoning, total_tokens: 18 },
    { ...USAGE, completion_tokens: 5 },
    { ...USAGE, ...reasoning },
  ];
  const choices = usages.map((usage, index) => ({ index, usage }));
  const completion_tokens_details = { reasoning_tokens: 6 };
  expect(asCompletion({ choices })?.usage).toEqual({ ...USAGE, completion_tokens: 21, completion_tokens_details });
});

test.each([null, '5', undefined])(
  'a choice with %j output tokens leaves the sum without a number',
  (completion_tokens) => {
    const choices = [USAGE, { ...USAGE, completion_tokens }].map((usage, index) => ({ index, usage }));
    expect(asCompletion({ choices })?.usage).toMatchObject({ completion_tokens: Number.NaN });
  },
);

test.each<[string, object, string]>([
  ['parts', { content: [{ type: 'text', text: 'a' }, 'x', { type: 'image' }, { text: 'b' }] }, 'ab'],
  ['reasoning in parts', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'a' }, null] }] }, 'a'],
  ['reasoning as text of a part', { content: [{ type: 'thinking', thinking: 'a' }] }, 'a'],
  ['reasoning under two names', { content: 'b', reasoning: 'a', reasoning_content: 'a' }, 'ba'],
  ['reasoning with details of the same', { reasoning: 'a', reasoning_details: [{ text: 'a' }] }, 'a'],
  ['details alone', { reasoning: '', reasoning_details: [{ text: 'a' }, { summary: 'b' }, { data: 'x' }] }, 'ab'],
  ['calls', { tool_calls: [{ function: { name: 'f', arguments: '{}' } }], refusal: 'r' }, 'rf{}'],
])('all output is text that counts, once: %s', (_, delta, text) => {
  expect(textOf({ delta })).toBe(text);
});

test('only a chunk with the usage may lack choices', () => {
  expect(asCompletion({ usage: USAGE })).toEqual({ usage: USAGE, choices: [] });
  expect(asCompletion({ choices: {} })).toBeUndefined();
});
