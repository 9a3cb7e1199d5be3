import { describe, expect, it } from 'vitest';
import { readOverviewUrl, withGroup, withRange } from './overview-url.ts';

describe('the search of the overview', () => {
  it('keeps what can be and drops the rest', () => {
    expect(readOverviewUrl({ range: '24h', by: 'key' })).toEqual({ range: '24h', by: 'key' });
    expect(readOverviewUrl({ range: '1y', by: ['key'] })).toEqual({});
  });

  it('says nothing of defaults and keeps the other choice', () => {
    expect(withRange({ range: '24h', by: 'key' }, '7d')).toEqual({ range: undefined, by: 'key' });
    expect(withRange({ by: 'key' }, '30d')).toEqual({ range: '30d', by: 'key' });
    expect(withGroup({ range: '24h', by: 'key' }, 'model')).toEqual({ range: '24h', by: undefined });
    expect(withGroup({ range: '24h' }, 'key')).toEqual({ range: '24h', by: 'key' });
  });
});
