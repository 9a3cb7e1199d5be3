import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '#core/parse-json.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { parseExactly } from './exact-json.ts';

describe('a body that is parsed and written again', () => {
  test.each([
    '{"maximum":9223372036854775807,"minimum":-9223372036854775808}',
    '{"a":[18446744073709551615,{"b":1e999}],"c":"9223372036854775807","d":0.1}',
    '{"a":12345678901234567890123456789,"b":1e22,"c":1E+30}',
  ])('has its numbers as they were: %s', (text) => {
    expect(JSON.stringify(parseExactly(text))).toBe(text);
  });

  test('is what JSON.parse gives, where doubles hold it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (value, isSlow) => {
        const text = JSON.stringify(isSlow ? { ...value, digits: '1'.repeat(16) } : value);
        const written = JSON.stringify(parseExactly(text));
        expect(parseJson(written)).toEqual(parseJson(text));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('keeps a member that is called __proto__ a member', () => {
    const text = '{"__proto__":{"a":1},"digits":"1111111111111111"}';
    expect(JSON.stringify(parseExactly(text))).toBe(text);
  });

  test("has its keys as they were, whatever key another customer's body had there", () => {
    const held = parseExactly('{"name":[],"\\\\u":0}');
    const body = parseExactly('{"name":1,"\\u540d\\u524d":2}');
    expect([held, body]).toEqual([
      { name: [], '\\u': 0 },
      { name: 1, 名前: 2 },
    ]);
  });
});
