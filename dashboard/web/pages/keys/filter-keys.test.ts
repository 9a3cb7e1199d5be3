import { describe, expect, it } from 'vitest';
import type { KeyView } from '#contract/keys.ts';
import { keysSearch } from '../searches.ts';
import { filterKeys } from './key-status.ts';

const key = (more: Partial<KeyView>): KeyView => ({
  id: 'key-01',
  name: 'Backend production',
  last4: 'aB12',
  scopes: ['chat'],
  state: 'usable',
  createdAtMs: 0,
  spentTodayNanoUsd: '0',
  mine: true,
  ...more,
});
const NOW_MS = 1_000_000_000;
const DAY_MS = 86_400_000;
const KEYS = [
  key({ id: 'key-A', name: 'Backend production' }),
  key({ id: 'key-B', name: 'Backend staging', last4: 'Zz99', createdBy: 'ana@example.com' }),
  key({ id: 'key-C', name: 'Old backend', state: 'revoked', last4: '0000' }),
  key({ id: 'key-D', name: 'Trial', note: 'Ask Bo Berg, room 7', state: 'expired', last4: '1111' }),
  key({ id: 'key-E', name: 'Leaving', state: 'revoking', last4: '2222', expiresAtMs: NOW_MS + DAY_MS }),
  key({ id: 'key-F', name: 'Soon', last4: '3333', expiresAtMs: NOW_MS + 7 * DAY_MS }),
  key({ id: 'key-G', name: 'Later', last4: '4444', expiresAtMs: NOW_MS + 7 * DAY_MS + 1 }),
];
const shown = (search: Parameters<typeof filterKeys>[1]) => filterKeys(KEYS, search, NOW_MS).shown.map(({ id }) => id);

describe('filterKeys', () => {
  it('shows those that work unless asked otherwise', () => {
    expect(shown({})).toEqual(['key-A', 'key-B', 'key-E', 'key-F', 'key-G']);
    expect(shown({ show: 'expiring' })).toEqual(['key-F']);
    expect(shown({ show: 'ended' })).toEqual(['key-C', 'key-D']);
    expect(shown({ show: 'all' })).toEqual(KEYS.map(({ id }) => id));
  });

  it('counts what the search finds in every group', () => {
    expect(filterKeys(KEYS, { search: 'backend' }, NOW_MS).counts).toEqual({
      usable: 2,
      expiring: 0,
      ended: 1,
      all: 3,
    });
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

  it('finds a whole or a shown key by its end', () => {
    expect(shown({ search: 'sk-gw-abcdefghZz99' })).toEqual(['key-B']);
    expect(shown({ search: 'sk-gw-…Zz99' })).toEqual(['key-B']);
    expect(shown({ search: 'sk-gw-Zz99abcdefgh' })).toEqual([]);
  });
});

describe('keysSearch', () => {
  it('keeps what it knows', () => {
    const values = { show: 'ended', search: 'a b', key: 'key-A', dialog: 'create' };
    expect(keysSearch(values)).toEqual(values);
  });

  it('drops what it does not know', () => {
    expect(keysSearch({ show: 'everything', search: '', key: {}, dialog: 'yes', other: 1 })).toEqual({});
  });
});
