import { describe, expect, it } from 'vitest';
import { auditSearch, costsSearch } from './searches.ts';

describe('the address of the audit log', () => {
  it('gives what can be, and nothing else', () => {
    const known = { actor: 'ada', action: 'key.revoked', range: '7d' };
    expect(auditSearch(known)).toEqual(known);
    expect(auditSearch({ actor: 7, action: 'key.eaten', range: '8d', from: 'x' })).toEqual({ actor: '7' });
  });
});

describe('the address of the costs page', () => {
  it('keeps what can be and drops the rest', () => {
    const known = { range: '7d', by: 'provider', daily: 'yes', show: 'margin', sort: 'cost', order: 'asc' };
    expect(costsSearch({ ...known, other: 1 })).toEqual(known);
    expect(costsSearch({ range: '1y', by: 'key', daily: 'no', show: 'tokens', sort: 'x', order: 'up' })).toEqual({});
  });

  it('takes days before a range, if they are valid', () => {
    const days = { from: '2026-11-01', to: '2026-11-02' };
    expect(costsSearch({ range: '7d', ...days })).toEqual(days);
    expect(costsSearch({ range: '7d', from: '2026-11-02', to: '2026-11-01' })).toEqual({ range: '7d' });
  });
});
