import { expect, it } from 'vitest';
import { failureLabel, healthOf } from './provider-health.ts';

const PROVIDER = {
  name: 'openai',
  host: 'h',
  hasKey: true,
  ejected: false,
  restingTargets: 0,
  attempts: 0,
  failures: 0,
};

it('tells how a provider does', () => {
  expect(healthOf(PROVIDER).state).toBe('Idle');
  expect(healthOf({ ...PROVIDER, attempts: 1000, failures: 49 }).state).toBe('Healthy');
  expect(healthOf({ ...PROVIDER, attempts: 1000, failures: 50 })).toEqual({
    tone: 'warn',
    state: 'Failing',
    detail: '50 of 1,000 attempts failed (5%)',
  });
});

it('says how many of its targets are passed over for now', () => {
  expect(healthOf({ ...PROVIDER, restingTargets: 2 }).detail).toBe(
    'not asked in the last 5 minutes, 2 targets at rest',
  );
});

it('puts what Envoy leaves alone above everything', () => {
  expect(healthOf({ ...PROVIDER, ejected: true }).state).toBe('Left alone');
});

it('says failures in words', () => {
  expect(failureLabel('status_503')).toBe('answered 503');
  expect(failureLabel('status_400_auth')).toBe('answered 400: our key or permissions');
  expect(failureLabel('status_429_funds')).toBe('answered 429: our balance or quota');
  expect(failureLabel('first_byte_timeout')).toBe('first byte timeout');
});
