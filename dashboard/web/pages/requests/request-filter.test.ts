import { describe, expect, it } from 'vitest';
import { type RequestsState, requestsSearch } from '../searches.ts';
import { canFollow, requestFilter } from './request-filter.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const KEY = `key-${'0'.repeat(26)}`;

describe('what stands in the URL of requests', () => {
  it('is read as the filter that it was', () => {
    const search = { range: '7d', key: KEY, model: 'gpt-5', outcome: 'failed', status: '429', code: 'rpm_exceeded' };
    expect(requestsSearch(search)).toEqual({ ...search, status: 429 });
  });

  it('loses what the server would refuse, and nothing else', () => {
    const raw = { range: 'ever', key: 'backend', open: 'log-1', status: 42, outcome: 'maybe', model: 'gpt-5' };
    expect(requestsSearch(raw)).toEqual({ model: 'gpt-5' });
  });
});

describe('the filter', () => {
  it('counts a range back from now', () => {
    expect(requestFilter({ range: '1h' }, NOW_MS)).toEqual({ fromMs: NOW_MS - 3_600_000 });
  });

  it('takes times before a range, and one of them may be open', () => {
    expect(requestFilter({ range: '1h', toMs: 5 }, NOW_MS)).toEqual({ toMs: 5 });
    expect(requestFilter({ fromMs: 3, toMs: 5, model: 'gpt-5' }, NOW_MS)).toEqual({
      fromMs: 3,
      toMs: 5,
      models: ['gpt-5'],
    });
  });

  it('looks for an id everywhere', () => {
    expect(requestFilter({ search: 'gen-1', range: '1h', code: 'rpm_exceeded', key: KEY }, NOW_MS)).toEqual({
      search: 'gen-1',
    });
  });

  it('does not count the drawer as one', () => {
    expect(Object.keys(requestsSearch.unfiltered)).not.toContain('open');
    expect(Object.keys(requestsSearch.unfiltered)).toContain('status');
  });

  it.each<[RequestsState, boolean]>([
    [{}, true],
    [{ range: '1h', code: 'rpm_exceeded' }, true],
    [{ fromMs: 1 }, true],
    [{ toMs: 1 }, false],
    [{ search: 'gen-1' }, false],
  ])('is followed live only where new requests can fit: %j %s', (search, expected) => {
    expect(canFollow(search)).toBe(expected);
  });
});
