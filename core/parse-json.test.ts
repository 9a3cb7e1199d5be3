import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { parseJson } from './parse-json.ts';

/** Texts that V8 misreads after another one, which has the raw beginning of a key as a key. */
const MISREAD = [
  ['{"m":[],"\\\\":0}', '{"m":1,"\\u0061":2}', ['m', 'a']],
  ['{"m":[],"\\\\":0}', '{"m":1,"\\"":2}', ['m', '"']],
  ['{"model":[],"max_tok\\\\u0":0}', '{"model":1,"max_tok\\u0065ns":2}', ['model', 'max_tokens']],
  ['{"name":[],"\\\\u":0}', '{"name":1,"\\u540d\\u524d":2}', ['name', '名前']],
] as const;

describe('a key with escapes', () => {
  it.each(MISREAD)('is right after %s: %s', (before, text, keys) => {
    // V8 forgets the misread keys once no object that had them is left, so these are kept.
    const held = [JSON.parse(before), parseJson(before)];
    expect(Object.keys(parseJson(text) as object)).toEqual(keys);
    expect(Object.keys(parseJson(`{"in":[{"x":"\\n"},${text}]}`) as object)).toEqual(['in']);
    expect(parseJson(`[${text}]`)).toEqual([parseJson(text)]);
    expect(held).toHaveLength(2);
  });

  it('is one member with all others of its name: the last value, at the position of the first', () => {
    const parsed = parseJson('{"\\u0061":1, "b" : [ ] ,"a":2,"\\u0061":{"\\u0061":null}}');
    expect(JSON.stringify(parsed)).toBe('{"a":{"a":null},"b":[]}');
  });

  it('may be called __proto__, and stays a member', () => {
    const text = '{"__proto__":{"a":1},"\\n":2}';
    expect(JSON.stringify(parseJson(text))).toBe(text);
  });
});

describe('against JSON.parse', () => {
  const json = fc.jsonValue({ maxDepth: 4 });

  it('is the same for keys without escapes, and for any stringified value', () => {
    fc.assert(
      fc.property(json, fc.boolean(), (value, isPretty) => {
        const text = JSON.stringify(value, null, isPretty ? 2 : 0);
        // The last key has an escape, so parseJson reads the whole text itself.
        const [read] = parseJson(`[${text},{"\\n":0}]`) as unknown[];
        expect(JSON.stringify(read)).toBe(JSON.stringify(value));
        expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(value));
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it.each(['', '{"\\n"', '{"\\n":1,}', '{"\\n":1} x', '["\\n":1]'])('throws for %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});

it('passes plain values and their source texts to `revive`, with and without escaped keys', () => {
  for (const key of ['a', '\\n']) {
    const seen: unknown[] = [];
    const revive = (value: unknown, source: string) => [seen.push(source), value];
    expect(Object.values(parseJson(`{"${key}":[1.0,"x",null,{}]}`, revive) as object)).toEqual([
      [[1, 1], [2, 'x'], [3, null], {}],
    ]);
    expect(seen).toEqual(['1.0', '"x"', 'null']);
  }
});
