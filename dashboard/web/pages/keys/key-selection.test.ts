import { describe, expect, it } from 'vitest';
import type { KeyView } from '#contract/keys.ts';
import { isSelectable, keyChoices } from './key-status.ts';

const NOW_MS = 1_800_000_000_000;
const DAYS_90_MS = 90 * 86_400_000;

let made = 0;
const key = (more: Partial<KeyView>): KeyView => ({
  id: `key-${++made}`,
  name: 'a',
  last4: 'abcd',
  scopes: ['chat'],
  state: 'usable',
  createdAtMs: NOW_MS,
  spentTodayNanoUsd: '0',
  mine: true,
  createdBy: 'ana@example.com',
  ...more,
});

describe('keyChoices', () => {
  const old = { createdAtMs: NOW_MS - DAYS_90_MS - 1 };
  const fresh = key({});
  const neverUsed = key(old);
  const usedOnce = key({ ...old, lastUsedAtMs: NOW_MS - DAYS_90_MS - 1 });
  const inUse = key({ ...old, lastUsedAtMs: NOW_MS - DAYS_90_MS });
  const expired = key({ ...old, state: 'expired', createdBy: 'bo@example.com' });
  const revoked = key({ ...old, state: 'revoked' });
  const foreign = key({ ...old, mine: false, createdBy: 'cy@example.com' });
  const { createdBy: _, ...unowned } = key({});
  const keys = [fresh, neverUsed, usedOnce, inUse, expired, revoked, foreign, unowned];
  const idsOf = (...chosen: KeyView[]) => chosen.map(({ id }) => id);

  it('selects by list, expiry and use, never a revoked key or one of somebody else', () => {
    expect(keyChoices(keys, [fresh, revoked, foreign], NOW_MS).kinds).toEqual([
      { label: 'All keys of this list', ids: idsOf(fresh) },
      { label: 'Expired', ids: idsOf(expired) },
      { label: 'Unused for 90 days', ids: idsOf(neverUsed, usedOnce) },
    ]);
    expect(keys.filter(isSelectable)).toHaveLength(6);
  });

  it('selects all keys of a person, those with the most first', () => {
    expect(keyChoices(keys, [], NOW_MS).people).toEqual([
      { label: 'ana@example.com', ids: idsOf(fresh, neverUsed, usedOnce, inUse) },
      { label: 'bo@example.com', ids: idsOf(expired) },
      { label: 'Command line', ids: idsOf(unowned) },
    ]);
  });

  it('offers nothing that selects nothing', () => {
    expect(keyChoices([revoked], [revoked], NOW_MS)).toEqual({ kinds: [], people: [] });
  });
});
