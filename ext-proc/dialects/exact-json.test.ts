import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { parseJson } from '#core/parse-json.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { parseExactly } from './exact-json.ts';

describe('a body that is parsed and written again', () => {
  test.each([
    '{"maximum":9223372036854775807,"minimum":-9223372036854775808}',
    '{"a":[18446744073709551615,{"b":1e999}],"c":"9223372036854775807","d":0.1}',
    '{"a":12345678901234567890123456789,"b":1e22,"c":1E+30}',
  ])('keeps its numbers: %s', (text) => {
    expect(JSON.stringify(parseExactly(text))).toBe(text);
  });

  test('keeps them at any place', () => {
    const numbers = ['9223372036854775807', '-18446744073709551615', '1E400', '-1.5e+22'];
    const anywhere = fc.record({
      lead: fc.constantFrom('{"a":', '{"a":[', '{"a":[1,', '{"a":{"b":', '{"a":["x",'),
      space: fc.stringMatching(/^[ \t\r\n]{0,2}$/),
      number: fc.constantFrom(...numbers),
    });
    fc.assert(
      fc.property(anywhere, ({ lead, space, number }) => {
        const end = lead.replace(/[^{[]/g, '').replaceAll('[', ']').replaceAll('{', '}');
        const text = `${lead}${number}${[...end].reverse().join('')}`;
        expect(JSON.stringify(parseExactly(text.replace(number, space + number + space)))).toBe(text);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('is parsed only once if only strings have many digits, as ids do', () => {
    const parse = vi.spyOn(JSON, 'parse');
    parseExactly('{"id":"msg_0000000000000000024","call_id":"call_7e12","output":[{"text":"9, 5e9 or 1e5"}]}');
    expect(parse).toHaveBeenCalledTimes(1);
    parse.mockRestore();
  });

  test('equals the result of JSON.parse for numbers that doubles hold', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (value, isSlow) => {
        const text = JSON.stringify(isSlow ? { ...value, digits: 1e30 } : value);
        const written = JSON.stringify(parseExactly(text));
        expect(parseJson(written)).toEqual(parseJson(text));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('keeps a member that is named __proto__', () => {
    const text = '{"__proto__":{"a":1},"digits":1111111111111111}';
    expect(JSON.stringify(parseExactly(text))).toBe(text);
  });

  test("keeps its keys, whatever keys another customer's body had", () => {
    const held = parseExactly('{"name":[],"\\\\u":0}');
    const body = parseExactly('{"name":1,"\\u540d\\u524d":2}');
    expect([held, body]).toEqual([
      { name: [], '\\u': 0 },
      { name: 1, 名前: 2 },
    ]);
  });
});
