import { expect, test } from 'vitest';
import { asCompletion } from './completion.ts';

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

test('only a chunk with the usage may lack choices', () => {
  expect(asCompletion({ usage: USAGE })).toEqual({ usage: USAGE, choices: [] });
  expect(asCompletion({ choices: {} })).toBeUndefined();
});
