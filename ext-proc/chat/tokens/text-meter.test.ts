import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { TextMeter } from './text-meter.ts';

function measure(literal: string): TextMeter {
  const meter = new TextMeter(false);
  const bytes = Buffer.from(literal);
  meter.add(bytes, 1, bytes.length - 1);
  return meter;
}

describe('TextMeter', () => {
  it('counts the bytes of a text exactly, escaped or not', () => {
    const character = fc.constantFrom(...'aZ7 \n\t"\\/\0é中😀ß\ufeff\u2028');
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: character }), fc.string({ unit: 'grapheme' })), (text) => {
        for (const literal of [JSON.stringify(text), asciiJson(JSON.stringify(text))]) {
          expect(measure(literal).bytes()).toBe(Buffer.byteLength(text));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('estimates a script the same, escaped or not', () => {
    for (const text of ['Страница не найдена', '请把下面这段话翻译成英文', 'ตลาดน้ำยามเช้า', '😀🎉']) {
      const estimate = measure(JSON.stringify(text)).estimatedTokens();
      expect(measure(asciiJson(JSON.stringify(text))).estimatedTokens()).toBeCloseTo(estimate, 5);
    }
  });

  it('sums up several texts', () => {
    const meter = new TextMeter(false);
    const bytes = Buffer.from('one two');
    meter.add(bytes, 0, 3);
    meter.add(bytes, 3, 7);
    expect(meter.bytes()).toBe(7);
    expect(meter.estimatedTokens()).toBeGreaterThan(1.5);
  });

  it('samples text beyond 32 KiB, within 5 % of the whole, and never counts too few bytes', () => {
    const sentence = 'The quick brown fox jumps over 12 lazy dogs;\n\nпотом 狐狸 "rests" \\o/ 😀. ';
    const text = sentence.repeat(60_000);
    const perSentence = measure(JSON.stringify(sentence)).estimatedTokens();
    for (const literal of [JSON.stringify(text), asciiJson(JSON.stringify(text))]) {
      const meter = measure(literal);
      expect(meter.estimatedTokens() / (perSentence * 60_000)).toBeCloseTo(1, 1);
      expect(Math.abs(meter.estimatedTokens() / (perSentence * 60_000) - 1)).toBeLessThan(0.05);
      expect(meter.bytes()).toBeGreaterThanOrEqual(Buffer.byteLength(text));
    }
  });

  it('samples secret blocks: cheap text in one block of four does not lower the estimate', () => {
    const block = Buffer.from('!@$%^&*('.repeat(32));
    const blank = Buffer.alloc(256, ' ');
    const estimates = [0, 1, 2, 3].map((cheap) => {
      const blocks = Array.from({ length: 4000 }, (_, index) => (index % 4 === cheap ? blank : block));
      const meter = new TextMeter(true);
      meter.add(Buffer.concat(blocks), 0, 4000 * 256);
      return meter.estimatedTokens();
    });
    // Three blocks of 256 signs of four, at 0.55 tokens a sign.
    for (const estimate of estimates) expect(estimate / (3000 * 256 * 0.55)).toBeGreaterThan(0.8);
  });

  it('has the same result in steps', () => {
    const text = 'The quick brown fox, jumps 12 !@# lazy dogs. \\ud834\\udd60 é\u{1d160} \\n'.repeat(8000);
    const bytes = Buffer.from(text);
    for (const samples of [true, false]) {
      const [whole, inSteps] = [new TextMeter(false, samples), new TextMeter(false, samples)];
      whole.add(bytes, 1, bytes.length);
      expect([...inSteps.addInSteps(bytes, 1, bytes.length)].length).toBeGreaterThanOrEqual(4);
      expect(inSteps.normalizationGrowth()).toBe(whole.normalizationGrowth());
      expect(inSteps.bytes()).toBe(whole.bytes());
      expect(inSteps.estimatedTokens() / whole.estimatedTokens()).toBeCloseTo(1, 3);
    }
  });

  it('measures everything without samples', () => {
    const bytes = Buffer.from('The quick brown fox, jumps 12 !@# lazy dogs. '.repeat(5000));
    const [whole, pieces] = [new TextMeter(true, false), new TextMeter(true, false)];
    whole.add(bytes, 0, bytes.length);
    for (let start = 0; start < bytes.length; start += 45) pieces.add(bytes, start, start + 45);
    expect(whole.estimatedTokens() / pieces.estimatedTokens()).toBeCloseTo(1, 2);
    expect(whole.bytes()).toBe(bytes.length);
  });

  it('counts enough bytes if every sampled block begins inside an escape', () => {
    // A backslash, escaped, and behind it what then looks like an escape of its own.
    const cut = '\\\\u00e9';
    const bytes = Buffer.alloc(1024 * 1024, 'a');
    let cuts = 0;
    for (let block = 1; block * 256 < bytes.length; block++, cuts++) bytes.write(cut, block * 256 - 1);
    const meter = new TextMeter(false);
    meter.add(bytes, 0, bytes.length);
    expect(meter.bytes()).toBeGreaterThanOrEqual(bytes.length - cuts);
  });
});
