import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#core/parse-json.ts';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { JsonScan, MAX_DEPTH, MAX_VALUES, STEP_BYTES } from './json-scan.ts';

function scan(body: string | Buffer) {
  const scan = new JsonScan(Buffer.from(body));
  while (!scan.step());
  return scan.result();
}

const accepts = (text: string) => scan(text).kind === 'object';
const problemOf = (text: string | Buffer) => {
  const result = scan(text);
  return result.kind === 'problem' ? result.problem : undefined;
};
/** The text as the provider gets it. */
const cleaned = (text: string) => {
  const result = scan(text);
  if (result.kind === 'problem') return result.problem;
  if (result.hasReplaced) result.tape.blankReplaced(result.bytes);
  return result.bytes.toString();
};

describe('what is JSON', () => {
  it.each([
    '{}',
    ' \t\r\n{ } \n',
    '{"a":[]}',
    '{"a" : [ 1 , -0 , 0.5 , 1e5 , 1E+5 , 1e-5 , -12.5e3 ] }',
    '{"":null,"b":true,"c":false}',
    '{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00"}',
    '{"a":"\\u0000"}',
    '{"__proto__":{"toString":1},"constructor":null}',
    '{"a":"\u2028\u007f"}',
  ])('accepts %j', (text) => expect(accepts(text)).toBe(true));

  it.each([
    ['', 'it is empty'],
    ['  \n', 'it is empty'],
    ['[]', 'it is not an object'],
    ['"a"', 'it is not an object'],
    ['null', 'it is not an object'],
    ['\ufeff{}', 'it begins with a byte order mark'],
    ['{', 'it ends too early (byte 1)'],
    ['{"a":1', 'it ends too early (byte 6)'],
    ['{"a', 'it ends too early (byte 3)'],
    ['{"a":"\\', 'it ends too early (byte 7)'],
    ['{"a":tru', 'it ends too early (byte 8)'],
    ['{} x', 'something follows its end (byte 2)'],
    ['{}{}', 'something follows its end (byte 2)'],
    ['{"a":1,}', 'something unexpected stands there (byte 7)'],
    ['{"a":[1,]}', 'something unexpected stands there (byte 8)'],
    ['{"a":01}', 'something unexpected stands there (byte 6)'],
    ['{"a":+1}', 'something unexpected stands there (byte 5)'],
    ['{"a":.5}', 'something unexpected stands there (byte 5)'],
    ['{"a":1.}', 'something unexpected stands there (byte 7)'],
    ['{"a":1e}', 'something unexpected stands there (byte 7)'],
    ['{"a":-}', 'something unexpected stands there (byte 6)'],
    ['{"a":NaN}', 'something unexpected stands there (byte 5)'],
    ["{'a':1}", 'something unexpected stands there (byte 1)'],
    ['{"a":"\\x"}', 'something unexpected stands there (byte 7)'],
    ['{"a":"\\u12g4"}', 'something unexpected stands there (byte 8)'],
    ['{"a":"\t"}', 'a control character stands in a string (byte 6)'],
    ['{"a":"\u0000"}', 'a control character stands in a string (byte 6)'],
    ['{"a":1/**/}', 'something unexpected stands there (byte 6)'],
    ['{"a"\u00a0:1}', 'something unexpected stands there (byte 4)'],
  ])('refuses %j: %s', (text, problem) => expect(problemOf(text)).toBe(problem));

  it('refuses bytes that are not UTF-8, also cut and overlong ones', () => {
    for (const bytes of [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(problemOf(body)).toBe('it is not UTF-8');
    }
    expect(problemOf(Buffer.from('{"a":1}', 'utf16le'))).toBeDefined();
  });

  it('refuses half a surrogate pair, which no provider could encode', () => {
    const paired = ['\\udc00\\udc00', '\\ud800\\ud800', '\\ud800x\\udc00', '\\uD83D\\u0041'];
    for (const text of ['\\ud800', '\\udc00', ...paired, '\\ud800\\n']) {
      expect(problemOf(`{"a":"${text}"}`)).toMatch(/^it has half of a surrogate pair/);
    }
    expect(problemOf('{"\\ud800":1}')).toMatch(/^it has half of a surrogate pair/);
  });

  it('nests 128 levels deep and no deeper', () => {
    const arrays = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
    for (const nested of [arrays, objects]) {
      expect(accepts(nested(MAX_DEPTH))).toBe(true);
      expect(problemOf(nested(MAX_DEPTH + 1))).toMatch(/^it nests deeper than 128 levels/);
    }
  });

  it('refuses numbers that overflow a double, in any notation, and no others', () => {
    const edge = '1.7976931348623157e308';
    const small = ['1e307', '0e999', '0.0e9999', '1e-9999', '9'.repeat(308), `0.${'0'.repeat(400)}1e500`];
    for (const text of [edge, `-${edge}`, ...small]) expect(problemOf(`{"a":${text}}`)).toBeUndefined();
    const large = ['1e309', '-1e400', '1.8e308', '9'.repeat(310), `1${'0'.repeat(309)}`, '1e99999999999999999999'];
    for (const text of large) expect(problemOf(`{"a":${text}}`)).toMatch(/^a number is out of range/);
  });
});

it('refuses a number that is longer than any reader accepts', () => {
  expect(accepts(`{"a":0.${'1'.repeat(4000)}}`)).toBe(true);
  expect(problemOf(`{"a":0.${'1'.repeat(5000)}}`)).toBe('a number is longer than 4096 bytes (byte 5)');
});

/** By `parseJson`, because V8's own can mistake an escaped key for one of an earlier text. */
describe('against JSON.parse', () => {
  /** Messages about inputs that the two treat differently on purpose. */
  const refusedOnPurpose = /not an object|half of a surrogate pair|out of range|deeper than/;

  function compare(text: string): void {
    const problem = problemOf(text);
    let parsed: unknown;
    try {
      parsed = parseJson(Buffer.from(text).toString());
    } catch {
      expect(problem).toBeDefined();
      return;
    }
    if (problem === undefined) expect(parseJson(cleaned(text))).toEqual(parsed);
    else expect(problem).toMatch(refusedOnPurpose);
  }

  it('agrees on valid texts', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), fc.boolean(), (value, pretty) =>
        compare(JSON.stringify(value, null, pretty ? 2 : 0)),
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('agrees on texts that were damaged in one place', () => {
    const damage = fc.constantFrom('', ...'"\\{}[],: 0-.eu\u0001é');
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), damage, (value, place, piece) => {
        const text = JSON.stringify(value);
        const at = place % (text.length + 1);
        compare(text.slice(0, at) + piece + text.slice(at + 1));
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('agrees on random tokens of the grammar', () => {
    const piece = fc.constantFrom(...'{}[],: 1', '"a"', '"\\u0061"', '"b"', '-0.5e1', 'true', 'null');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => compare(`{"a":${pieces.join('')}}`)),
      { numRuns: propertyRuns(3000) },
    );
  });
});

describe('duplicate keys', () => {
  it.each([
    ['{"a":1,"a":2}', '{      "a":2}'],
    ['{"a":1,"b":3,"a":2}', '{      "b":3,"a":2}'],
    ['{"a":1,"\\u0061":2}', '{      "\\u0061":2}'],
    ['{"\\u0061":1,"a":2,"a" : 3}', '{                 "a" : 3}'],
    ['{"x":{"a":{"b":1,"b":2},"a":[{"c":1,"c":2}]}}', '{"x":{                  "a":[{      "c":2}]}}'],
    ['{"é":1,"\\u00e9":2}', '{       "\\u00e9":2}'],
  ])('keeps the last of %j', (text, expected) => expect(cleaned(text)).toBe(expected));

  it('keeps keys that are not duplicates', () => {
    for (const text of ['{"a":1,"A":2,"a ":3}', '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}', '{"ab":1,"a":2,"b":3}']) {
      expect(cleaned(text)).toBe(text);
    }
  });

  it('leaves exactly the members that JSON.parse would see, in objects of every size', () => {
    const known = ['"a"', '"b"', '"\\u0061"', '""', '"c\\n"', '"c\\u000a"', '"\\ud83d\\ude00"', '"😀"', '"__proto__"'];
    const key = fc.oneof(
      fc.constantFrom(...known),
      fc.nat(30).map((n) => `"k${n}"`),
    );
    const many = fc.array(fc.tuple(key, fc.nat(9)), { maxLength: 60 });
    fc.assert(
      fc.property(many, many, (outer, inner) => {
        const written = (members: readonly (readonly [string, number | string])[]) =>
          `{${members.map(([k, v]) => `${k}:${v}`).join(' , ')}}`;
        const text = written([...outer, ['"nested"', written(inner)], ...outer.slice(3)]);
        const clean = cleaned(text);
        expect(parseJson(clean)).toEqual(parseJson(text));
        // Parsed without any rule for duplicates: no key is left twice.
        const keys = [...clean.matchAll(/"(?:[^"\\]|\\.)*"(?=\s*:)/g)].map(([literal]) => String(JSON.parse(literal)));
        const namesOf = (members: readonly (readonly [string, number])[]) =>
          new Set(members.map(([k]) => String(JSON.parse(k))));
        const expected = [...namesOf(outer), 'nested', ...namesOf(inner)];
        expect(keys.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: propertyRuns(400) },
    );
  });
});

describe('a scan in steps', () => {
  function stepsOf(text: string): number {
    const scan = new JsonScan(Buffer.from(text));
    let steps = 1;
    while (!scan.step()) steps++;
    return steps;
  }

  it('has the same result, wherever a step ends', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\n', 'é', '😀'), maxLength: 30 });
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(text, fc.jsonValue())), fc.nat(60), (value, before) => {
        const written = asciiJson(JSON.stringify(value));
        const long = `{"pad":"${'x'.repeat(STEP_BYTES - before)}","a":1,"v":${written},"a":2}`;
        const bytes = Buffer.from(long);
        const result = scan(bytes);
        if (result.kind === 'problem') throw new Error(result.problem);
        result.tape.blankReplaced(bytes);
        expect(parseJson(bytes.toString())).toEqual(parseJson(long));
        if (written.length > 100) expect(stepsOf(long)).toBe(2);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('takes steps in proportion to the length of the text', () => {
    expect(stepsOf(`{"a":"${'x'.repeat(1000)}"}`)).toBe(1);
    expect(stepsOf(`{"a":"${'\\"'.repeat(5 * STEP_BYTES)}"}`)).toBeGreaterThanOrEqual(10);
    expect(stepsOf(`{"a":[${'1,'.repeat(100_000)}1]}`)).toBe(4);
  });
});

describe('bodies that are made to be slow', () => {
  const SIZE = 4 * 1024 * 1024;
  const wide = (count: number, member: (index: number) => string) =>
    `{"a":{${Array.from({ length: count }, (_, i) => member(i)).join(',')}}}`;
  const BODIES: readonly [string, () => string][] = [
    ['open arrays', () => `{"a":${'['.repeat(SIZE)}`],
    ['empty arrays', () => `{"a":[${'[],'.repeat(SIZE / 3)}1]}`],
    ['as many keys as there may be', () => wide(MAX_VALUES - 2, (i) => `"k${i}":1`)],
    ['one key as often as there may be values', () => wide(MAX_VALUES - 2, () => '"k":1')],
    ['as many escaped keys as there may be', () => wide(MAX_VALUES - 2, (i) => `"\\u006b${i}":1`)],
    ['escapes', () => `{"a":"${'\\\\'.repeat(SIZE / 2)}"}`],
    ['one long number', () => `{"a":${'1'.repeat(SIZE)}}`],
    ['numbers at the edge of a double', () => `{"a":[${'1e308,'.repeat(SIZE / 6)}1]}`],
    ['white space', () => `{"a":${' '.repeat(SIZE)}1}`],
  ];

  it('with the most allowed values are read, one more is refused', () => {
    expect(accepts(wide(MAX_VALUES - 1, (i) => `"k${i}":1`))).toBe(true);
    expect(problemOf(wide(MAX_VALUES, (i) => `"k${i}":1`))).toMatch(/^it has more than 250000 values \(byte \d+\)$/);
  });

  // A quadratic scanner needs minutes for any of these.
  it.each(BODIES)('%s take less than 2 s', (_, body) => {
    const bytes = Buffer.from(body());
    expect(cpuMsOf(() => scan(bytes))).toBeLessThan(2000);
  });
});
