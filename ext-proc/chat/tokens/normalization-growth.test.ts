import fc from 'fast-check';
import { expect, it } from 'vitest';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { NormalizationGrowth } from './normalization-growth.ts';

const FORMS = ['NFC', 'NFKC'] as const;

function growthOf(text: string): number {
  const bytes = Buffer.from(text);
  const growth = new NormalizationGrowth();
  growth.read(bytes, 0, bytes.length);
  growth.endText();
  return growth.bytes;
}

function longestBytes(text: string): number {
  return Math.max(...FORMS.map((form) => Buffer.byteLength(text.normalize(form))));
}

const POINTS = Array.from({ length: 0x110000 }, (_, point) => point).filter(
  (point) => point < 0xd800 || point > 0xdfff,
);
const MARKS = POINTS.filter((point) => /\p{M}/u.test(String.fromCodePoint(point)));
const COMPOSED = POINTS.filter((point) => {
  const character = String.fromCodePoint(point);
  return character !== '\\' && character.normalize('NFKD') !== character;
});

it('covers every character, alone and before a mark that belongs before its own', () => {
  const short = [0x0323, 0x0328, 0x0345, 0x05b0, 0x093c, 0x094d, 0x3099].map((mark) => String.fromCodePoint(mark));
  const missed = POINTS.filter((point) => {
    const character = point === 0x5c ? '\\\\' : String.fromCodePoint(point);
    return Buffer.byteLength(character) + growthOf(character) < longestBytes(character);
  });
  const missedBeforeMarks = COMPOSED.filter((point) =>
    short.some((mark) => {
      const text = String.fromCodePoint(point) + mark;
      return Buffer.byteLength(text) + growthOf(text) < longestBytes(text);
    }),
  );
  expect({ missed, missedBeforeMarks }).toEqual({ missed: [], missedBeforeMarks: [] });
});

it('covers any text of composed characters, marks and others, escaped or not', () => {
  const character = fc.oneof(
    fc.constantFrom(...COMPOSED).map((point) => String.fromCodePoint(point)),
    fc.constantFrom(...MARKS).map((point) => String.fromCodePoint(point)),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('a', ' ', 'ᄀ', 'ᅡ', 'ᆨ', '각', 'が', 'ﷺ', '𝅘𝅥'),
  );
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 30 }), (whole) => {
      const text = whole.replaceAll('\\', '/');
      expect(Buffer.byteLength(text) + growthOf(text)).toBeGreaterThanOrEqual(longestBytes(text));
      expect(growthOf(asciiJson(text))).toBe(growthOf(text));
    }),
    { numRuns: propertyRuns(5000) },
  );
});

it('is the same if a text is read in parts', () => {
  const character = fc.constantFrom(...COMPOSED, ...MARKS).map((point) => String.fromCodePoint(point));
  fc.assert(
    fc.property(
      fc.string({ unit: character, maxLength: 30 }),
      fc.boolean(),
      fc.array(fc.nat(60)),
      (text, isEscaped, cuts) => {
        const written = isEscaped ? asciiJson(JSON.stringify(text)) : text;
        const bytes = Buffer.from(written.replaceAll('\\\\', '/'));
        const growth = new NormalizationGrowth();
        let pos = 0;
        for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          if (cut > pos && cut <= bytes.length) pos = growth.read(bytes, pos, cut);
        }
        growth.endText();
        expect(growth.bytes).toBe(growthOf(bytes.toString()));
      },
    ),
  );
});

it('adds nothing to ordinary text', () => {
  const scripts = ['请把下面这段话翻译成英文', 'Страница не найдена, Ёлка', 'สวัสดีชาวโลก', '안녕하세요'];
  for (const text of [...scripts, '😀🎉👨‍👩‍👧‍👦', 'ありがとう、カレー']) {
    // A letter in the end may be followed by a mark in the next text.
    expect(growthOf(`${text}.`)).toBe(0);
  }
  expect(growthOf('Größe, naïve, façade, Việt Nam.')).toBe(0);
  expect(growthOf('\u{1d160}')).toBe(8);
  expect(growthOf('\ufdfa')).toBe(30);
});
