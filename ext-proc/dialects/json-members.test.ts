import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '#core/parse-json.ts';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { editObject, membersOf } from './json-members.ts';

const value = fc.jsonValue({ maxDepth: 3 });
const name = fc.oneof(fc.constantFrom('id', 'model', 'usage', '__proto__', '\\', '"', 'é\n'), fc.string());
const object = fc.dictionary(name, value, { maxKeys: 6 });
const indent = fc.constantFrom(undefined, 1, '\t');

describe('editing an object in its text', () => {
  test('has the same result as editing the parsed object', () => {
    fc.assert(
      fc.property(
        object,
        indent,
        fc.dictionary(fc.constantFrom('id', 'model', 'usage', 'new'), fc.option(value)),
        (before, space, edits) => {
          const text = JSON.stringify(before, null, space);
          const expected = { ...(parseJson(text) as Record<string, unknown>) };
          const asText: Record<string, string | undefined> = {};
          for (const [name, edit] of Object.entries(edits)) {
            asText[name] = edit === null ? undefined : JSON.stringify(edit);
            if (edit === null) delete expected[name];
            else expected[name] = parseJson(JSON.stringify(edit));
          }
          expect(parseJson(editObject(text, asText))).toEqual(expected);
        },
      ),
      { numRuns: propertyRuns(500) },
    );
  });

  test('finds the positions of members', () => {
    const text = ' { "a" : [1, {"b": "]}"}] ,"c\\u0064": "\\\\\\"" , "e":-1.5e+3, "\\"f\\\\":0}';
    expect(membersOf(text).map(({ name, valueStart, valueEnd }) => [name, text.slice(valueStart, valueEnd)])).toEqual([
      ['a', '[1, {"b": "]}"}]'],
      ['cd', '"\\\\\\""'],
      ['e', '-1.5e+3'],
      ['"f\\', '0'],
    ]);
  });

  test('leaves what it does not edit byte for byte', () => {
    const text = '{"big":12345678901234567890,"float":1.0,"exp":1E400,"10":0,"9":0,"text":"\\u00e9\\/","id":1}';
    expect(editObject(text, { id: '"x"' })).toBe(text.replace('"id":1', '"id":"x"'));
  });

  test('edits every member of a repeated name', () => {
    expect(editObject('{"id":1,"x":2,"id":3}', { id: '"y"' })).toBe('{"id":"y","x":2,"id":"y"}');
    expect(editObject('{"id":1,"x":2,"\\u0069d":3}', { id: undefined })).toBe('{"x":2}');
  });

  test('adds missing members in order, and handles the empty object', () => {
    expect(editObject('{}', { id: '1', gone: undefined, model: '"m"' })).toBe('{"id":1,"model":"m"}');
    expect(editObject('{ "a" : 1 }', { a: undefined })).toBe('{}');
  });

  test('is linear in long strings of quotes and backslashes', () => {
    const text = JSON.stringify({ a: '\\"'.repeat(500_000), id: 1 });
    let edited = '';
    const tookMs = cpuMsOf(() => {
      edited = editObject(text, { id: '2' });
    });
    expect(edited).toBe(`${text.slice(0, -2)}2}`);
    expect(tookMs).toBeLessThan(2000);
  });

  test.each([
    ['a name without its end', '{"a'],
    ['a name that ends in a backslash', '{"a\\'],
    ['a name alone', '{"a"'],
    ['a string without its end', '{"a":"b'],
    ['a number without its end', '{"a":1'],
    ['an array without its end', '{"a":[1,{"b":2}'],
    ['an object without its end', '{"a":{"b":"]"'],
    ['a string without its end inside of an array', '{"a":["b'],
  ])('throws for %s, which JSON.parse does not accept', (_, text) => {
    expect(() => inTime(() => membersOf(text))).toThrow('no JSON object');
  });

  test('ends for any text, with members inside it', () => {
    const texts = fc.oneof(
      fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', ' ', '1', 'a'), maxLength: 30 }),
      fc.tuple(object, fc.nat({ max: 200 })).map(([value, end]) => JSON.stringify(value).slice(0, end)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          for (const { start, valueStart, valueEnd } of inTime(() => membersOf(text))) {
            expect(start).toBeLessThan(valueStart);
            expect(valueStart).toBeLessThanOrEqual(valueEnd);
            expect(valueEnd).toBeLessThanOrEqual(text.length);
          }
        } catch (error) {
          // A name with an escape that JSON lacks is a SyntaxError; an endless loop would be
          // another error.
          expect(String(error)).toMatch(/no JSON object|SyntaxError/);
        }
      }),
      { numRuns: propertyRuns(1000) },
    );
  });
});

/** Interrupts an endless loop, which the time limit of a test cannot. */
function inTime<T>(call: () => T): T {
  return runInNewContext('call()', { call }, { timeout: 20_000 });
}
