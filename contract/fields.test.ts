import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { MAX_AMOUNT_NANO_USD } from '#core/money.ts';
import { inRanges } from '#core/net/ip-ranges.ts';
import { budgetNanoUsd, creditNanoUsd, email, idOf, ipRanges, modelIds, name, nothing } from './fields.ts';

const accepts = (field: z.ZodType, value: unknown) => field.safeParse(value).success;

describe('an amount', () => {
  const around = fc.oneof(
    fc.bigInt({ min: -2n * MAX_AMOUNT_NANO_USD, max: 2n * MAX_AMOUNT_NANO_USD }),
    fc.constantFrom(0n, MAX_AMOUNT_NANO_USD, -MAX_AMOUNT_NANO_USD, MAX_AMOUNT_NANO_USD + 1n, -MAX_AMOUNT_NANO_USD - 1n),
  );

  it('is accepted within its range, a budget from zero', () => {
    fc.assert(
      fc.property(around, (amount) => {
        const fits = amount <= MAX_AMOUNT_NANO_USD && amount >= -MAX_AMOUNT_NANO_USD;
        expect(accepts(creditNanoUsd, String(amount))).toBe(fits);
        expect(accepts(budgetNanoUsd, String(amount))).toBe(fits && amount >= 0n);
      }),
    );
  });

  it('is decimal text, without other forms that BigInt would parse', () => {
    for (const text of ['', ' 1', '1 ', '+1', '0x10', '1n', '1_000', '١', '--1', '-']) {
      expect(accepts(creditNanoUsd, text), text).toBe(false);
    }
  });
});

describe('a name', () => {
  it.each([
    ['Zoë 👩‍👩‍👧', true],
    ['می‌خواهم', true],
    ['عربي \u200e(x)', true],
    ['\u202egnp.exe', false],
    ['a\u2066b', false],
    ['inv\u200b-17', false],
    ['a\u2028b', false],
    ['\u200d', false],
    ['\u{e0001}', false],
    ['\u0301', false],
    ['?', true],
  ])('of %j can be seen as it is: %s', (text, isSeen) => {
    expect(accepts(name, text)).toBe(isSeen);
  });

  it('is any text that PostgreSQL, jsonb and people can handle, trimmed', () => {
    const character = fc.constantFrom(
      'a',
      ' ',
      '\t',
      '\0',
      '\x7f',
      '\x85',
      '\u00a0',
      '\u200b',
      'é',
      '😀',
      '\ud83d',
      "'",
    );
    const texts = fc.oneof(fc.array(character, { maxLength: 12 }), fc.array(fc.constant('b'), { maxLength: 220 }));
    fc.assert(
      fc.property(texts, (characters) => {
        const text = characters.join('');
        const read = name.safeParse(text);
        const trimmed = text.trim();
        const isFine = /^[^\p{Cc}\u200b]{1,200}$/u.test(trimmed) && trimmed.length <= 200 && trimmed.isWellFormed();
        expect(read.success).toBe(isFine);
        if (read.success) expect(read.data).toBe(trimmed);
      }),
      { numRuns: 500 },
    );
  });

  it('contains no half of a surrogate pair', () => {
    expect(accepts(name, 'a\ud83d')).toBe(false);
    expect(accepts(name, 'a\ud83d\ude00')).toBe(true);
  });
});

describe('a range of addresses', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6());

  it('is accepted if the gateway understands it as it is written', () => {
    fc.assert(
      fc.property(address, fc.option(fc.integer({ min: 0, max: 140 }), { nil: undefined }), (text, length) => {
        const range = length === undefined ? text : `${text}/${length}`;
        expect(accepts(ipRanges, [range])).toBe(inRanges(text, [range]));
      }),
    );
  });

  it('is stored as written, trimmed', () => {
    expect(ipRanges.parse([' 10.0.0.1/8 ', '10.0.0.1/8', '2001:DB8::/32'])).toEqual(['10.0.0.1/8', '2001:DB8::/32']);
  });
});

describe('other fields', () => {
  it('are parsed strictly', () => {
    expect(email.parse(' Ada@Example.COM ')).toBe('ada@example.com');
    expect(accepts(modelIds, ['gpt-5-mini', 'org/model:7b'])).toBe(true);
    expect(accepts(modelIds, ['x'.repeat(201)])).toBe(false);
    expect(accepts(idOf('org'), `org-${'0'.repeat(26)}`)).toBe(true);
    for (const id of [
      `key-${'0'.repeat(26)}`,
      `org-${'0'.repeat(25)}`,
      `org-${'U'.repeat(26)}`,
      `org-${'0'.repeat(27)}`,
    ]) {
      expect(accepts(idOf('org'), id), id).toBe(false);
    }
    expect(accepts(nothing, {})).toBe(true);
    expect(accepts(nothing, { a: undefined })).toBe(false);
  });
});
