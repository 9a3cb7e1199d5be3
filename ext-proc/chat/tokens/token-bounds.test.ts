import fc from 'fast-check';
import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { acceptedChat } from '#test/fixtures/chat-request.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';

/**
 * How wrong the two numbers can be for texts that are made to fool them: words of a few characters,
 * drawn from small alphabets of all scripts and signs. Weights by kind and length cannot know which
 * letters follow each other ("qwxz" is four tokens, "ness" one). The worst is a rare letter with a
 * space behind each: half a token is estimated for the two, o200k_base has three for some letters
 * and cl100k_base four. Runs of signs, where a client fools nobody by chance, are held closer.
 */
const MOST_TIMES = { signs: 3, o200k: 6, cl100k: 8 };
/** The frame of a request is in the estimate and not in the text. */
const ALLOWANCE = 3;

/** The first code points of ranges, of which each ends where the next begins. */
const BEGINNINGS = [
  0x21, 0x30, 0x3a, 0x41, 0x5b, 0x61, 0x7b, 0x80, 0x250, 0x400, 0x530, 0x600, 0x800, 0xe00, 0xf00, 0x1100, 0x1200,
  0x2000, 0x3000, 0x3100, 0xa000, 0xac00, 0xd800, 0xe000, 0xfb00, 0x10000, 0x20000, 0x110000,
];
const SURROGATES = 0xd800;
const RANGES = BEGINNINGS.slice(1)
  .map((next, at) => ({ min: BEGINNINGS[at] ?? 0, max: next - 1 }))
  .filter(({ min }) => min !== SURROGATES)
  .concat({ min: 0x09, max: 0x0d });

const SIGNS = [...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'];
const anyCharacter = fc
  .constantFrom(...RANGES)
  .chain((range) => fc.integer(range))
  .map((point) => String.fromCodePoint(point));

/** Words over an alphabet of 1 to 6 characters, some hundred characters together. */
function textOver(character: fc.Arbitrary<string>, space: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .array(character, { minLength: 1, maxLength: 6 })
    .chain((alphabet) =>
      fc
        .tuple(
          fc.array(fc.constantFrom(...alphabet), { minLength: 150, maxLength: 250 }),
          fc.integer({ min: 1, max: 12 }),
          space,
        )
        .map(([characters, length, gap]) =>
          characters.map((each, index) => (index % length === length - 1 ? each + gap : each)).join(''),
        ),
    );
}

const severalTexts = fc.array(textOver(anyCharacter, fc.constantFrom('', ' ')), { minLength: 2, maxLength: 4 });
const adversarial = fc.oneof(
  textOver(anyCharacter, fc.constantFrom('', ' ', '\n', '\t', 'a')),
  severalTexts.map((texts) => texts.join('')),
);

const bodyOf = (content: string) => JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
const inputTokens = (content: string) => acceptedChat(bodyOf(content)).inputTokens;

describe('the estimate', () => {
  it('of 30,000 random signs is right within a third', () => {
    let state = 7;
    const text = Array.from({ length: 30_000 }, () => {
      state = (state * 48_271) % 2_147_483_647;
      return SIGNS[state % SIGNS.length];
    }).join('');
    expect(inputTokens(text).estimate / encodeO200k(text).length).toBeGreaterThan(0.67);
    expect(inputTokens(text).estimate / encodeO200k(text).length).toBeLessThan(1.34);
  });

  it(`of signs, whatever stands between them, is at least the ${MOST_TIMES.signs}rd part of the truth`, () => {
    const gaps = fc.constantFrom('', ' ', 'a', ' the ', '\n', '7', 'é');
    fc.assert(
      fc.property(textOver(fc.constantFrom(...SIGNS), gaps), (text) => {
        const { estimate } = inputTokens(text);
        expect(encodeO200k(text).length).toBeLessThanOrEqual(MOST_TIMES.signs * estimate);
        expect(encodeCl100k(text).length).toBeLessThanOrEqual(MOST_TIMES.signs * estimate);
      }),
      { numRuns: propertyRuns(1500) },
    );
  });

  it(`of any text is at least the ${MOST_TIMES.o200k}th part of it for o200k_base, and the ${MOST_TIMES.cl100k}th for cl100k_base`, () => {
    fc.assert(
      fc.property(adversarial, (text) => {
        const { estimate } = inputTokens(text);
        expect(encodeO200k(text).length - ALLOWANCE).toBeLessThanOrEqual(MOST_TIMES.o200k * estimate);
        expect(encodeCl100k(text).length - ALLOWANCE).toBeLessThanOrEqual(MOST_TIMES.cl100k * estimate);
      }),
      { numRuns: propertyRuns(1500), examples: ['\u0450 ', '\u0b66 '].map((word) => [word.repeat(2000)]) },
    );
  });
});

describe('the ceiling', () => {
  it('is never below the true count, nor below the bytes of the normalized text', () => {
    fc.assert(
      fc.property(adversarial, (text) => {
        const { ceiling, normalizedCeiling } = inputTokens(text);
        expect(ceiling).toBeGreaterThanOrEqual(Math.max(encodeO200k(text).length, encodeCl100k(text).length));
        const bytes = ['NFC', 'NFKC'].map((form) => Buffer.byteLength(text.normalize(form)));
        expect(normalizedCeiling).toBeGreaterThanOrEqual(Math.max(ceiling, ...bytes));
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('covers normalization even in long texts, where only samples are measured', () => {
    for (const [character, longest] of [
      ['\u{1d160}', 12],
      ['\ufdfa', 33],
    ] as const) {
      const text = `x${character}`.repeat(20_000);
      expect(inputTokens(text).normalizedCeiling).toBeGreaterThanOrEqual(20_000 * (1 + longest));
      const { normalizedCeiling } = acceptedChat(asciiJson(bodyOf(text))).inputTokens;
      expect(normalizedCeiling).toBeGreaterThanOrEqual(20_000 * (1 + longest));
    }
  });
});
