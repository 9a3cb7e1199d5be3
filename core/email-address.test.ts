import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeEmail } from './email-address.ts';

describe('e-mail addresses', () => {
  it.each([
    ['ada@example.com', 'ada@example.com'],
    [' Ada.Lovelace+gw@EXAMPLE.co.uk\n', 'ada.lovelace+gw@example.co.uk'],
    ["o'brien@mail-1.example", "o'brien@mail-1.example"],
    ['root@localhost', 'root@localhost'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
  ])('%j is %j', (text, email) => {
    expect(normalizeEmail(text)).toBe(email);
  });

  it.each([
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@example.com@example.com',
    'a da@example.com',
    'ada@exa mple.com',
    'ada@-example.com',
    'ada@example.com.',
    // Looks like ada@example.com.
    '\u0430da@example.com',
    // The Kelvin sign, which is k in lower case.
    '\u212a@example.com',
    'ada\u0000@example.com',
    'ada<script>@example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(253)}`,
  ])('%j is none', (text) => {
    expect(normalizeEmail(text)).toBeUndefined();
  });

  it('stay what they are once normalized, and fit the table', () => {
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), fc.string()), (text) => {
        const email = normalizeEmail(text);
        if (email === undefined) return;
        expect(normalizeEmail(email)).toBe(email);
        expect(email).toBe(email.toLowerCase());
        expect(email.length).toBeGreaterThanOrEqual(3);
        expect(email.length).toBeLessThanOrEqual(254);
      }),
    );
  });
});
