import { expect, it } from 'vitest';
import { KEY_SETTINGS, ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { briefSettings } from './format.ts';

it('lists the limits of an organization, without those that it lacks', () => {
  const least = { concurrency: 1, allowMultipleCompletions: false };
  expect(briefSettings(ORGANIZATION_SETTINGS, least)).toEqual(['1 request at once']);
  const limits = {
    requestsPerMinute: 600,
    tokensPerMinute: 2_000_000,
    dailyBudgetNanoUsd: '80000000000',
    maxTokens: 4096,
    concurrency: 8,
    allowMultipleCompletions: true,
  };
  expect(briefSettings(ORGANIZATION_SETTINGS, limits)).toEqual([
    '600 requests a minute',
    '2M tokens a minute',
    '8 requests at once',
    '$80 a day',
    '4,096 output tokens a request',
    'several completions a request',
  ]);
});

it('lists the limits of a key in words that fit a cell', () => {
  const limits = { requestsPerMinute: 60, dailyBudgetNanoUsd: '5000000000', lifetimeBudgetNanoUsd: '200500000000' };
  expect(briefSettings(KEY_SETTINGS, { name: 'a', ...limits })).toEqual(['60 rpm', '$5/day', '$200.50 in total']);
});
