import { describe, expect, it } from 'vitest';
import { auditSearch, costsSearch, keysSearch } from './searches.ts';

describe('the address of the audit log', () => {
  it('keeps valid values, and drops the rest', () => {
    const known = { actor: 'ada', action: 'key.revoked', range: '7d' };
    expect(auditSearch(known)).toEqual(known);
    expect(auditSearch({ actor: 7, action: 'key.eaten', range: '8d', from: 'x' })).toEqual({ actor: '7' });
  });
});

describe('the address of the costs page', () => {
  it('keeps valid values, and drops the rest', () => {
    const known = { range: '1y', by: 'provider', show: 'margin', sort: 'cost', order: 'asc', fromMs: 1, toMs: 2 };
    expect(costsSearch({ ...known, other: 1 })).toEqual(known);
    expect(costsSearch({ range: '24h', by: 'key', show: 'tokens', sort: 'x', order: 'up', fromMs: -1 })).toEqual({});
  });
});

describe('the address of the keys', () => {
  it('keeps known values', () => {
    const values = { show: 'ended', search: 'a b', key: 'key-A', dialog: 'create' };
    expect(keysSearch(values)).toEqual(values);
  });

  it('drops unknown values', () => {
    expect(keysSearch({ show: 'everything', search: '', key: {}, dialog: 'yes', other: 1 })).toEqual({});
  });
});
