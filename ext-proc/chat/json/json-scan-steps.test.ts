import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#core/parse-json.ts';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { JsonScan, MAX_VALUES, STEP_BYTES } from './json-scan.ts';

function scanJsonObject(bytes: Buffer) {
  const scan = new JsonScan(bytes);
  while (!scan.step());
  return scan.result();
}

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
        const result = scanJsonObject(bytes);
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
    expect(scanJsonObject(Buffer.from(wide(MAX_VALUES - 1, (i) => `"k${i}":1`))).kind).toBe('object');
    expect(scanJsonObject(Buffer.from(wide(MAX_VALUES, (i) => `"k${i}":1`)))).toMatchObject({
      kind: 'problem',
      problem: expect.stringMatching(/^it has more than 250000 values \(byte \d+\)$/),
    });
  });

  // A quadratic scanner needs minutes for any of these.
  it.each(BODIES)('%s take less than 2 s', (_, body) => {
    const bytes = Buffer.from(body());
    expect(cpuMsOf(() => scanJsonObject(bytes))).toBeLessThan(2000);
  });
});
