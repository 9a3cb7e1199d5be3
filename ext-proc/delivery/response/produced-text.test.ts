import { expect, test } from 'vitest';
import { ProducedText } from './produced-text.ts';

function textOf(pieces: readonly string[]): ProducedText {
  const text = new ProducedText();
  for (const piece of pieces) text.add(piece);
  return text;
}

test('a response of ordinary length is kept whole, in any pieces', () => {
  const pieces = Array.from({ length: 1000 }, (_, index) => `word${index} `);
  const text = textOf(pieces);
  expect(text.kept()).toBe(pieces.join(''));
  expect(text.tokensOfAll(1234)).toBe(1234);
});

test('no pieces, and empty pieces, are empty', () => {
  expect(textOf([]).isEmpty()).toBe(true);
  expect(textOf(['', '']).isEmpty()).toBe(true);
  expect(textOf(['', 'a']).isEmpty()).toBe(false);
});

test.each([
  ['many pieces', Array.from({ length: 1000 }, () => 'x'.repeat(1000))],
  ['one piece', ['x'.repeat(1_000_000)]],
])('of a very long response (%s) a bounded part is kept, and the rest is extrapolated', (_, pieces) => {
  const text = textOf(pieces);
  expect(text.kept().length).toBe(128 * 1024);
  const keptTokens = text.kept().length / 4;
  expect(text.tokensOfAll(keptTokens)).toBe(250_000);
});

test('the rest is extrapolated by bytes', () => {
  const text = textOf(['a'.repeat(128 * 1024), 'я'.repeat(128 * 1024)]);
  expect(text.tokensOfAll(1000)).toBe(3000);
});
