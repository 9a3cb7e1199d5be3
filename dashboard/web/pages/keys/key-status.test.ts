import { describe, expect, it } from 'vitest';
import type { KeyView } from '#contract/keys.ts';
import { keyStatus, mayExtend, mayReplace, whyFixed } from './key-status.ts';

const DAY_MS = 86_400_000;
const NOW = 1_800_000_000_000;
const key = (more: Partial<KeyView>): KeyView => ({
  id: 'key-A',
  name: 'a',
  last4: 'abcd',
  scopes: ['chat'],
  state: 'usable',
  createdAtMs: 0,
  spentTodayNanoUsd: '0',
  mine: true,
  ...more,
});

describe('keyStatus', () => {
  it.each([
    [{}, { kind: 'usable' }],
    [{ expiresAtMs: NOW + 7 * DAY_MS + 1 }, { kind: 'usable' }],
    [{ expiresAtMs: NOW + 7 * DAY_MS }, { kind: 'expiring', atMs: NOW + 7 * DAY_MS }],
    [
      { state: 'revoking', revokedAtMs: NOW + 5, expiresAtMs: NOW + 9 },
      { kind: 'revoking', atMs: NOW + 5 },
    ],
    [
      { state: 'revoked', revokedAtMs: NOW - 5, expiresAtMs: NOW - 9 },
      { kind: 'revoked', atMs: NOW - 5 },
    ],
    [
      { state: 'expired', revokedAtMs: NOW + 5, expiresAtMs: NOW - 9 },
      { kind: 'expired', atMs: NOW - 9 },
    ],
  ] as const)('of %j is %j', (more, status) => {
    expect(keyStatus(key(more), NOW)).toEqual(status);
  });
});

describe('whyFixed', () => {
  it('names who may change the key', () => {
    expect(whyFixed(key({}))).toBeUndefined();
    expect(whyFixed(key({ state: 'expired' }))).toBeUndefined();
    expect(whyFixed(key({ mine: false, createdBy: 'ana@example.com' }))).toContain('Only ana@example.com and owners');
    expect(whyFixed(key({ mine: false }))).toMatch(/^Only owners/);
  });

  it('holds for everybody once the key is revoked', () => {
    expect(whyFixed(key({ state: 'revoked' }))).toContain('stays revoked');
  });
});

describe('mayReplace', () => {
  it('is only so of a key that works and goes on working', () => {
    const states = ['usable', 'revoking', 'expired', 'revoked'] as const;
    expect(states.map((state) => mayReplace(key({ state })))).toEqual([true, false, false, false]);
  });
});

describe('mayExtend', () => {
  it.each([
    [{}, false],
    [{ expiresAtMs: NOW + 8 * DAY_MS }, false],
    [{ expiresAtMs: NOW + 6 * DAY_MS }, true],
    [{ state: 'revoking', revokedAtMs: NOW + 5, expiresAtMs: NOW + 9 }, false],
    [{ state: 'expired', expiresAtMs: NOW - 9 }, true],
    [{ state: 'revoked', expiresAtMs: NOW - 9 }, false],
  ] as const)('of %j is %j', (more, may) => {
    expect(mayExtend(key(more), NOW)).toBe(may);
  });
});
