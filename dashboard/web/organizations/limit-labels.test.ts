import { expect, it } from 'vitest';
import { limitLabels } from './limit-labels.ts';

it('says what an organization may, and nothing of limits that it has not', () => {
  expect(limitLabels({ concurrency: 64, allowMultipleCompletions: false })).toEqual(['64 requests at once']);
  const limits = {
    requestsPerMinute: 600,
    tokensPerMinute: 2_000_000,
    dailyBudgetNanoUsd: '80000000000',
    maxTokens: 4096,
    concurrency: 8,
    allowMultipleCompletions: true,
  };
  expect(limitLabels(limits)).toEqual([
    '600 requests a minute',
    '2M tokens a minute',
    '$80.00 a day',
    '4,096 output tokens a request',
    '8 requests at once',
    'several completions a request',
  ]);
});
