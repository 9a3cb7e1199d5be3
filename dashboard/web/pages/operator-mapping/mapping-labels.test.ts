import { expect, it } from 'vitest';
import { differenceLabel, differenceValue, disputeLabel, failureLabel, healthOf } from './mapping-labels.ts';

it.each([
  ['usd_per_million_tokens.input', { what: 'Price of input is lower' }],
  [
    'usd_per_million_tokens.above.272000.cached_input',
    { what: 'Price of cached input is lower', entry: 'Prompts above 272,000 tokens' },
  ],
  [
    'cost_usd_per_million_tokens.service_tiers.flex.above.200000.cache_write_1h',
    { what: 'Cost of cache writes for an hour differs', entry: 'Service tier flex, prompts above 200,000 tokens' },
  ],
  ['context_window', { what: 'Context window is larger' }],
  ['max_output_tokens', { what: 'Output limit is larger' }],
  ['longest_prompt', { what: 'Longest prompt is shorter' }],
  ['usd_per_million_tokens.service_tiers.flex', { what: 'No price', entry: 'Service tier flex' }],
  ['cost_usd_per_million_tokens.service_tiers.a-1', { what: 'No cost', entry: 'Service tier a-1' }],
  ['usd_per_million_tokens.from.2026-12-01', { what: 'No price', entry: 'From Dec 1, 2026' }],
  [
    'cost_usd_per_million_tokens.from.2026-12-01T08:00:00.001+02:00.cached_input',
    { what: 'Cost of cached input differs', entry: 'From Dec 1, 2026' },
  ],
  ['usd_per_million_tokens.hours.00:00-24:00', { what: 'No price', entry: '00:00-24:00 UTC' }],
  [
    'usd_per_million_tokens.from.2026-12-01.hours.01:00-04:00.service_tiers.flex.above.272000.input',
    {
      what: 'Price of input is lower',
      entry: 'From Dec 1, 2026: 01:00-04:00 UTC: Service tier flex, prompts above 272,000 tokens',
    },
  ],
  ['shutdown_date', { what: 'Shutdown' }],
  ['usd_per_million_tokens.audio', { what: 'Price of audio is lower' }],
  ['from.a.later.release', { what: 'from.a.later.release' }],
])('names %s', (field, label) => {
  expect(differenceLabel({ field })).toEqual(label);
});

it.each([
  ['usd_per_million_tokens.input', 1.5625, '$1.5625'],
  ['usd_per_million_tokens.input', 0, '$0.00'],
  ['cost_usd_per_million_tokens.output', 0.000001, '$0.000001'],
  ['usd_per_million_tokens.output', 1_000_000, '$1,000,000.00'],
  ['context_window', 272_000, '272,000'],
  ['shutdown_date', '2026-12-11', 'Dec 11, 2026'],
  ['shutdown_date', null, 'None'],
  ['longest_prompt', 272_000, '272,000'],
  ['usd_per_million_tokens.service_tiers.flex', null, 'None'],
  ['usd_per_million_tokens.service_tiers.flex', 'input 1, output 5', 'input 1, output 5'],
])('shows the %s %j as %s', (field, value, shown) => {
  expect(differenceValue(field, value)).toBe(shown);
});

it('names disputed prices', () => {
  expect(['cached_input', 'above', 'audio'].map(disputeLabel)).toEqual([
    'Price of cached input',
    'Prompt lengths with other prices',
    'Price of audio',
  ]);
});

const PROVIDER = {
  name: 'openai',
  host: 'h',
  hasKey: true,
  ejected: false,
  restingTargets: 0,
  attempts: 0,
  failures: 0,
};

it('shows the health of a provider', () => {
  expect(healthOf(PROVIDER).state).toBe('Idle');
  expect(healthOf({ ...PROVIDER, attempts: 1000, failures: 49 }).state).toBe('Healthy');
  expect(healthOf({ ...PROVIDER, attempts: 1000, failures: 50 })).toEqual({
    tone: 'warn',
    state: 'Failing',
    detail: '50 of 1,000 attempts failed (5%)',
  });
});

it('shows how many of its targets rest', () => {
  expect(healthOf({ ...PROVIDER, restingTargets: 2 }).detail).toBe(
    'not called in the last 5 minutes, 2 targets resting',
  );
});

it('ranks an ejection by Envoy above everything else', () => {
  expect(healthOf({ ...PROVIDER, ejected: true }).state).toBe('Ejected');
});

it('describes failures', () => {
  expect(failureLabel('status_503')).toBe('status 503');
  expect(failureLabel('status_400_auth')).toBe('status 400: our key or permissions');
  expect(failureLabel('status_429_funds')).toBe('status 429: our balance or quota');
  expect(failureLabel('first_byte_timeout')).toBe('first byte timeout');
});
