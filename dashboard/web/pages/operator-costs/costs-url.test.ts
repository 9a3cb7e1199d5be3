import { describe, expect, it } from 'vitest';
import { chosenSorting, groupsOf, readCostsUrl, sortBy } from './costs-url.ts';

describe('the address of the costs page', () => {
  it('keeps what can be and drops the rest', () => {
    const known = { range: '7d', by: 'provider', daily: 'yes', show: 'margin', sort: 'cost', order: 'asc' };
    expect(readCostsUrl({ ...known, other: 1 })).toEqual(known);
    expect(readCostsUrl({ range: '1y', by: 'key', daily: 'no', show: 'tokens', sort: 'x', order: 'up' })).toEqual({});
    expect(readCostsUrl({ range: '7d', from: '2026-11-01', to: '2026-11-02' })).toEqual({
      from: '2026-11-01',
      to: '2026-11-02',
    });
    expect(readCostsUrl({ from: '2026-11-02', to: '2026-11-01' })).toEqual({});
  });

  it('groups by model, and by day if that is wanted', () => {
    expect(groupsOf({})).toBe('model');
    expect(groupsOf({ by: 'organization', daily: 'yes' })).toBe('day,organization');
  });

  it('sorts by revenue, or the newest day first', () => {
    expect(chosenSorting({})).toEqual({ sort: 'revenue', order: 'desc' });
    expect(chosenSorting({ daily: 'yes' })).toEqual({ sort: 'day', order: 'desc' });
    // The column of days is gone.
    expect(chosenSorting({ sort: 'day', order: 'asc' })).toEqual({ sort: 'revenue', order: 'desc' });
    expect(sortBy({}, 'revenue')).toMatchObject({ sort: 'revenue', order: 'asc' });
    expect(sortBy({}, 'subject')).toMatchObject({ sort: 'subject', order: 'asc' });
  });
});
