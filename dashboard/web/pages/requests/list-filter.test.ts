import { describe, expect, it } from 'vitest';
import type { ExploreState } from '#contract/explore-search.ts';
import { canFollow, filterTextOf, listFilter } from './list-filter.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);

describe('the filter of the list', () => {
  it('has no end up to now, so that new requests match', () => {
    expect(listFilter({ range: '1h', model: ['a'] }, NOW_MS)).toEqual({ fromMs: NOW_MS - 3_600_000, models: ['a'] });
    expect(listFilter({ fromMs: 3, toMs: 90_000 }, NOW_MS)).toEqual({ fromMs: 3, toMs: 90_000 });
  });

  it('searches for an id everywhere', () => {
    expect(listFilter({ search: 'gen-1', range: '1h', code: ['rpm_exceeded'] }, NOW_MS)).toEqual({ search: 'gen-1' });
  });

  it('does not depend on the chart and the drawer', () => {
    const list: ExploreState = { model: ['a'], range: '1h' };
    const look: ExploreState = { open: 'log-1', by: 'key', show: 'cost', compare: 'yes', sort: 'name', order: 'asc' };
    expect(filterTextOf({ ...list, ...look })).toBe(filterTextOf(list));
    expect(filterTextOf({ ...list, range: '6h' })).not.toBe(filterTextOf(list));
  });

  it.each<[ExploreState, boolean]>([
    [{}, true],
    [{ range: '1h', code: ['rpm_exceeded'] }, true],
    [{ fromMs: 1 }, true],
    [{ toMs: 1 }, false],
    [{ range: 'yesterday' }, false],
    [{ search: 'gen-1' }, false],
  ])('is followed live only if new requests can match: %j %s', (state, expected) => {
    expect(canFollow(state)).toBe(expected);
  });
});
