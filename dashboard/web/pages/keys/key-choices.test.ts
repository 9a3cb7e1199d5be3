import { describe, expect, it } from 'vitest';
import { expiryOf, replacementExpiry } from './key-choices.ts';

const NOW = new Date(2026, 10, 21, 14, 30, 25, 400).getTime();

describe('expiryOf', () => {
  it.each([
    ['30d', new Date(2026, 11, 21, 14, 30)],
    ['90d', new Date(2027, 1, 19, 14, 30)],
    ['1y', new Date(2027, 10, 21, 14, 30)],
    ['custom', new Date(2026, 10, 28, 14, 30)],
  ] as const)('puts %s at the same time of day', (choice, expected) => {
    expect(expiryOf(choice, NOW)).toBe(expected.getTime());
  });

  it('never ends', () => {
    expect(expiryOf('never', NOW)).toBeUndefined();
  });
});

describe('replacementExpiry', () => {
  it('says nothing, a moment or never', () => {
    expect(replacementExpiry('same', NOW)).toEqual({});
    expect(replacementExpiry('30d', NOW)).toEqual({ expiresAtMs: new Date(2026, 11, 21, 14, 30).getTime() });
    expect(replacementExpiry('never', NOW)).toEqual({ expiresAtMs: null });
  });
});
