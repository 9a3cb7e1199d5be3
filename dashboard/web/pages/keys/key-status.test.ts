import { describe, expect, it } from 'vitest';
import type { KeyView } from '#contract/keys.ts';
import { filterKeys, isSelectable, keyChoices, keyStatus, mayExtend, mayReplace, whyFixed } from './key-status.ts';

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

  it('applies to everyone once the key is revoked', () => {
    expect(whyFixed(key({ state: 'revoked' }))).toContain('stays revoked');
  });
});

describe('mayReplace', () => {
  it('is true only for a key that works and will go on working', () => {
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

const KEYS = [
  key({ id: 'key-A', name: 'Backend production', last4: 'aB12' }),
  key({ id: 'key-B', name: 'Backend staging', last4: 'Zz99', createdBy: 'ana@example.com' }),
  key({ id: 'key-C', name: 'Old backend', state: 'revoked', last4: '0000' }),
  key({ id: 'key-D', name: 'Trial', note: 'Ask Bo Berg, room 7', state: 'expired', last4: '1111' }),
  key({ id: 'key-E', name: 'Leaving', state: 'revoking', last4: '2222', expiresAtMs: NOW + DAY_MS }),
  key({ id: 'key-F', name: 'Soon', last4: '3333', expiresAtMs: NOW + 7 * DAY_MS }),
  key({ id: 'key-G', name: 'Later', last4: '4444', expiresAtMs: NOW + 7 * DAY_MS + 1 }),
];
const shown = (search: Parameters<typeof filterKeys>[1]) => filterKeys(KEYS, search, NOW).shown.map(({ id }) => id);

describe('filterKeys', () => {
  it('shows usable keys by default', () => {
    expect(shown({})).toEqual(['key-A', 'key-B', 'key-E', 'key-F', 'key-G']);
    expect(shown({ show: 'expiring' })).toEqual(['key-F']);
    expect(shown({ show: 'ended' })).toEqual(['key-C', 'key-D']);
    expect(shown({ show: 'all' })).toEqual(KEYS.map(({ id }) => id));
  });

  it('counts the matches of the search in any state', () => {
    expect(filterKeys(KEYS, { search: 'backend' }, NOW).found).toBe(3);
  });

  it.each([
    ['production backend', ['key-A']],
    ['BACK', ['key-A', 'key-B']],
    ['zZ9', ['key-B']],
    ['key-e', ['key-E']],
    ['ana@', ['key-B']],
    ['  ', ['key-A', 'key-B', 'key-E', 'key-F', 'key-G']],
    ['backend missing', []],
    ['room bo', []],
  ])('finds %j', (search, ids) => {
    expect(shown({ search })).toEqual(ids);
  });

  it('finds a full key, or a displayed one, by its last characters', () => {
    expect(shown({ search: 'sk-gw-abcdefghZz99' })).toEqual(['key-B']);
    expect(shown({ search: 'sk-gw-…Zz99' })).toEqual(['key-B']);
    expect(shown({ search: 'sk-gw-Zz99abcdefgh' })).toEqual([]);
  });
});

describe('keyChoices', () => {
  let made = 0;
  const own = (more: Partial<KeyView>) =>
    key({ id: `key-${++made}`, createdAtMs: NOW, createdBy: 'ana@example.com', ...more });
  const old = { createdAtMs: NOW - 90 * DAY_MS - 1 };
  const fresh = own({});
  const neverUsed = own(old);
  const usedOnce = own({ ...old, lastUsedAtMs: NOW - 90 * DAY_MS - 1 });
  const inUse = own({ ...old, lastUsedAtMs: NOW - 90 * DAY_MS });
  const expired = own({ ...old, state: 'expired', createdBy: 'bo@example.com' });
  const revoked = own({ ...old, state: 'revoked' });
  const foreign = own({ ...old, mine: false, createdBy: 'cy@example.com' });
  const { createdBy: _, ...unowned } = own({});
  const keys = [fresh, neverUsed, usedOnce, inUse, expired, revoked, foreign, unowned];
  const idsOf = (...chosen: KeyView[]) => chosen.map(({ id }) => id);

  it('selects by list, expiry and use, but never revoked keys or those of others', () => {
    expect(keyChoices(keys, [fresh, revoked, foreign], NOW).kinds).toEqual([
      { label: 'All keys of this list', ids: idsOf(fresh) },
      { label: 'Expired', ids: idsOf(expired) },
      { label: 'Unused for 90 days', ids: idsOf(neverUsed, usedOnce) },
    ]);
    expect(keys.filter(isSelectable)).toHaveLength(6);
  });

  it('selects all keys of a person, those with the most keys first', () => {
    expect(keyChoices(keys, [], NOW).people).toEqual([
      { label: 'ana@example.com', ids: idsOf(fresh, neverUsed, usedOnce, inUse) },
      { label: 'bo@example.com', ids: idsOf(expired) },
      { label: 'Command line', ids: idsOf(unowned) },
    ]);
  });

  it('offers no choice that selects nothing', () => {
    expect(keyChoices([revoked], [revoked], NOW)).toEqual({ kinds: [], people: [] });
  });
});
