import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { SkimmedResponse } from './skimmed-response.ts';

function skim(text: string, ...cuts: readonly number[]): SkimmedResponse {
  const bytes = Buffer.from(text);
  const skimmed = new SkimmedResponse();
  let from = 0;
  for (const cut of cuts.map((one) => one % (bytes.length + 1)).sort((a, b) => a - b)) {
    skimmed.push(bytes.subarray(from, cut));
    from = cut;
  }
  skimmed.push(bytes.subarray(from));
  return skimmed;
}

const USAGE = { prompt_tokens: 7, completion_tokens: 5, details: { cached_tokens: [1, 2] } };

describe('a response that is skimmed', () => {
  test('gives the members that decide its charge, wherever they are and wherever it is cut', () => {
    const names = fc.constantFrom('id', 'service_tier', 'usage', 'choices', 'a"b\\', 'usages');
    const spaced = fc.constantFrom(undefined, 1, '\t');
    fc.assert(
      fc.property(fc.dictionary(names, fc.jsonValue()), spaced, fc.array(fc.nat()), (members, space, cuts) => {
        const { id, service_tier, usage } = members;
        const skimmed = skim(`\n ${JSON.stringify(members, null, space)} \n`, ...cuts);
        const { id: found, service_tier: tier, usage: counted, ...others } = skimmed.members;
        expect([found, tier, counted, others]).toEqual([id, service_tier, usage, {}]);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test.each<[string, unknown]>([
    ['a text', { choices: [{ message: { content: JSON.stringify({ usage: USAGE }) } }] }],
    ['arguments', { content: [{ type: 'tool_use', input: { usage: USAGE } }] }],
    ['an element', [{ usage: USAGE }]],
    ['a name', { 'x,"usage"': USAGE }],
  ])('finds none within %s', (_, value) => {
    expect(skim(JSON.stringify(value)).members).toEqual({});
  });

  test('keeps no member that is longer than any of these', () => {
    const long = JSON.stringify({ usage: 'x'.repeat(70_000), id: 'a' });
    expect(skim(long, 40_000, 68_000).members).toEqual({ id: 'a' });
  });

  test('counts objects and arrays outside of texts', () => {
    expect(skim('{"a":[{},"{[\\"{"],"b":[]}', 7, 12).composites).toBe(4);
  });

  test.each(['', '}}{{"usage":1}', '{"usage":', 'not found', '{"usage":{]}'])('gives nothing for %s', (text) => {
    expect(skim(text).members).toEqual({});
  });
});
