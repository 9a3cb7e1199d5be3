import { expect, it } from 'vitest';
import type { KeyView } from '#contract/keys.ts';
import { sortKeys } from './key-sorting.ts';

it('sorts keys by their own values, newest first by default, and those without one last', () => {
  const key = (name: string, createdAtMs: number, more: Partial<KeyView> = {}): KeyView => ({
    ...{ id: name, name, last4: 'abcd', scopes: ['chat'], state: 'usable', mine: true, spentTodayNanoUsd: '0' },
    ...{ createdAtMs, ...more },
  });
  const keys = [
    key('b', 1, { lastUsedAtMs: 5, spentTodayNanoUsd: '9' }),
    key('a10', 3, { createdBy: 'ana@example.com' }),
    key('a9', 2, { lastUsedAtMs: 7, spentTodayNanoUsd: '10' }),
  ];
  const names = (sorting: Parameters<typeof sortKeys>[1]) => sortKeys(keys, sorting).map(({ name }) => name);
  expect(names({})).toEqual(['a10', 'a9', 'b']);
  expect(names({ sort: 'name' })).toEqual(['a9', 'a10', 'b']);
  expect(names({ sort: 'used' })).toEqual(['a9', 'b', 'a10']);
  expect(names({ sort: 'used', order: 'asc' })).toEqual(['b', 'a9', 'a10']);
  expect(names({ sort: 'spent' })).toEqual(['a9', 'b', 'a10']);
  expect(names({ sort: 'owner' })).toEqual(['a10', 'b', 'a9']);
});
