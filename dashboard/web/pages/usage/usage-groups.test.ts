import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { daysOf, PRESETS } from '../../search/days.ts';
import { usageSearch } from '../searches.ts';
import { chosenGroups, toggleGroup, usageColumns } from './usage-rows.ts';

const KEY = 'key-01M7YXN3KQCZNWNS0YTY0V6B73';
const NOW_MS = Date.UTC(2026, 10, 21, 10, 30);

describe('the search of the usage page', () => {
  it('keeps what can be and drops the rest', () => {
    expect(
      usageSearch({
        range: '90d',
        by: 'key,day',
        key: KEY,
        model: '',
        show: 'tokens',
        sort: 'cost',
        order: 'asc',
      }),
    ).toEqual({ range: '90d', by: 'day,key', key: KEY, show: 'tokens', sort: 'cost', order: 'asc' });
    expect(
      usageSearch({
        range: '1y',
        by: 'colour',
        key: 'key-7',
        model: 'x'.repeat(301),
        show: [],
        sort: 'id',
        order: 'up',
      }),
    ).toEqual({});
  });

  it('takes days of its own before a preset, both or none', () => {
    expect(usageSearch({ range: '7d', from: '2026-11-01', to: '2026-11-03' })).toEqual({
      from: '2026-11-01',
      to: '2026-11-03',
    });
    expect(usageSearch({ range: '7d', from: '2026-11-01' })).toEqual({ range: '7d' });
    expect(usageSearch({ range: '7d', from: '2026-11-04', to: '2026-11-03' })).toEqual({ range: '7d' });
  });

  it('reads what it wrote, whatever it was given', () => {
    const value = fc.oneof(
      fc.constantFrom(...PRESETS, 'day', 'model,key', 'tokens', 'cost', 'asc', '2026-11-01', '2026-10-01'),
      fc.string(),
      fc.integer(),
    );
    const names = ['range', 'from', 'to', 'by', 'key', 'model', 'show', 'sort', 'order'];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (raw) => {
        const search = usageSearch(raw);
        expect(usageSearch({ ...search })).toEqual(search);
        expect(Object.values(search)).not.toContain(undefined);
        expect(chosenGroups(search).length).toBeGreaterThan(0);
      }),
    );
  });

  it('means the last 30 days where it says nothing', () => {
    expect(daysOf({}, NOW_MS)).toEqual({ from: '2026-10-23', to: '2026-11-21' });
    expect(daysOf({ from: '2026-01-01', to: '2026-01-02' }, NOW_MS)).toEqual({ from: '2026-01-01', to: '2026-01-02' });
  });
});

describe('groups', () => {
  it('go in and out in one order', () => {
    expect(chosenGroups({})).toEqual(['model']);
    expect(toggleGroup({}, 'day').by).toBe('day,model');
    expect(toggleGroup({ by: 'day,model' }, 'key').by).toBe('day,model,key');
    expect(toggleGroup({ by: 'day,model' }, 'model').by).toBe('day');
  });

  it('never all go', () => {
    expect(toggleGroup({ by: 'day' }, 'day')).toEqual({ by: 'day' });
  });

  it('take the sorting by them along', () => {
    expect(toggleGroup({ by: 'day,model', sort: 'model', order: 'asc' }, 'model')).toEqual({ by: 'day' });
    expect(toggleGroup({ by: 'day,model', sort: 'cost', order: 'asc' }, 'model')).toEqual({
      by: 'day',
      sort: 'cost',
      order: 'asc',
    });
  });
});

it('sorts the newest first with days and the dearest first without', () => {
  expect(usageColumns(['day', 'key']).usual).toBe('day');
  expect(usageColumns(['key']).usual).toBe('cost');
});
