import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backAddress } from './back-address.ts';

describe('the address to go back to', () => {
  it('is the page that was requested', () => {
    expect(backAddress('/o/org-1/keys?show=all#key-2')).toBe('/o/org-1/keys?show=all#key-2');
    expect(backAddress('/sign-inside')).toBe('/sign-inside');
  });

  it('is the start page by default, and never the sign-in page itself', () => {
    for (const back of [undefined, '', '/sign-in', '/sign-in?back=/sign-in', '/link#token']) {
      expect(backAddress(back)).toBe('/');
    }
  });

  it('never leads to another host', () => {
    const own = 'https://gateway.example';
    const hostile = fc.constantFrom(
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'https://evil.example',
      'javascript:alert(1)',
      'evil',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          hostile,
          fc.string(),
          fc.string().map((text) => `/${text}`),
        ),
        (back) => {
          const url = URL.parse(backAddress(back), own);
          expect(url === null || url.origin === own).toBe(true);
        },
      ),
    );
  });
});
