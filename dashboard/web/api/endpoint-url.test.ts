import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { queryText } from '#contract/define-search.ts';
import { endpointUrl } from './api.ts';

describe('the URL of an endpoint', () => {
  it('has its parameters filled in', () => {
    expect(
      endpointUrl('PATCH /api/organizations/:organization/keys/:key', {
        params: { organization: 'org-1', key: 'key-2' },
      }),
    ).toEqual({ method: 'PATCH', url: '/api/organizations/org-1/keys/key-2' });
  });

  it('requires each parameter', () => {
    expect(() => endpointUrl('GET /api/organizations/:organization', {})).toThrow('needs organization');
    expect(() => endpointUrl('GET /api/organizations/:organization', { params: { organization: '' } })).toThrow();
  });

  it('leaves out absent values', () => {
    expect(endpointUrl('GET /api/organizations', { query: { search: undefined, after: '' } }).url).toBe(
      '/api/organizations',
    );
    expect(queryText({ a: [], b: ['x', ''], c: ['y,z'] })).toBe('?b=x&b=&c=y%2Cz');
    expect(queryText({ a: 0, b: false, c: undefined, d: 'x y&z' })).toBe('?a=0&b=false&d=x+y%26z');
  });

  it('survives a round trip with any value, and leads nowhere else', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.string({ minLength: 1, unit: 'grapheme' }),
        (id, search) => {
          const { url } = endpointUrl('GET /api/organizations/:organization/keys', {
            params: { organization: id },
            query: { search },
          });
          const parsed = new URL(url, 'https://gateway.example');
          const parts = parsed.pathname.split('/');
          // `.` and `..` are steps in a path, however they are written; no id is one.
          fc.pre(!/^\.{1,2}$/.test(id));
          expect(parts).toHaveLength(5);
          expect(decodeURIComponent(parts[3] ?? '')).toBe(id);
          expect(parsed.searchParams.get('search')).toBe(search);
        },
      ),
    );
  });
});
