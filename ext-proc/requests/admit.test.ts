import { expect, it } from 'vitest';
import { rateLimitHeaders } from './admit.ts';

it('there are headers only for limits that exist, with whole seconds', () => {
  expect(rateLimitHeaders({}, 0)).toEqual({});
  expect(rateLimitHeaders({ requests: { limit: 10, remaining: -2, resetsAtMs: 60_000 } }, 17_500)).toEqual({
    'x-ratelimit-limit-requests': '10',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '43s',
  });
  expect(rateLimitHeaders({ tokens: { limit: 1000, remaining: 250, resetsAtMs: 60_000 } }, 60_000)).toEqual({
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '250',
    'x-ratelimit-reset-tokens': '0s',
  });
});
