import { describe, expect, it, test } from 'vitest';
import { restrictionLabels, spentFraction } from './key-labels.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const DECEMBER_3 = Date.UTC(2026, 11, 3, 12);

describe('restrictionLabels', () => {
  it('is empty for a key without restrictions', () => {
    expect(restrictionLabels({ name: 'a', scopes: ['chat'] }, NOW)).toEqual([]);
  });

  it('has a few words for every restriction', () => {
    const key = {
      name: 'a',
      scopes: ['chat' as const],
      models: ['gpt-5', 'gpt-5-mini'],
      ipRanges: ['10.0.0.0/8', '192.0.2.1', '::1'],
      requestsPerMinute: 60,
      tokensPerMinute: 250_000,
      dailyBudgetNanoUsd: '5000000000',
      monthlyBudgetNanoUsd: '90000000000',
      lifetimeBudgetNanoUsd: '200500000000',
      expiresAtMs: DECEMBER_3,
    };
    expect(restrictionLabels(key, NOW)).toEqual([
      '2 models',
      '3 addresses',
      '60 rpm',
      '250K tpm',
      '$5/day',
      '$90/month',
      '$200.50 in total',
      'expires Dec 3',
    ]);
  });

  it('names the only model and the only address', () => {
    const key = { name: 'a', scopes: [], models: ['gpt-5'], ipRanges: ['10.0.0.0/8'] };
    expect(restrictionLabels(key, NOW)).toEqual(['gpt-5', '10.0.0.0/8']);
  });

  it('does not confuse a limit of zero with no limit', () => {
    expect(restrictionLabels({ name: 'a', scopes: [], dailyBudgetNanoUsd: '0' }, NOW)).toEqual(['$0/day']);
  });

  it('shows that the key has expired', () => {
    expect(restrictionLabels({ name: 'a', scopes: [], expiresAtMs: DECEMBER_3 }, DECEMBER_3)).toEqual([
      'expired Dec 3',
    ]);
  });
});

test('a budget of zero is used up', () => {
  expect(spentFraction('25', '100')).toBe(0.25);
  expect(spentFraction('0', '0')).toBe(1);
});
