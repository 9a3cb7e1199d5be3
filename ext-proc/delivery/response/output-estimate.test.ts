import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, it } from 'vitest';
import { estimateTokens } from '../../chat/tokens/text-meter.ts';
import { OutputEstimate } from './output-estimate.ts';
import { ProducedText } from './produced-text.ts';

const corpus = (name: string): string => readFileSync(join(import.meta.dirname, '../../../test/corpus', name), 'utf8');

it.each([
  ['english.txt', 0.25],
  ['german.txt', 0.25],
  ['chinese.txt', 0.25],
  ['code-typescript.txt', 0.25],
])('estimates %s as it arrives, within %d of the count', (name, error) => {
  const text = corpus(name);
  const produced = new ProducedText();
  const estimate = new OutputEstimate(produced, estimateTokens);
  expect(estimate.tokens()).toBe(0);
  let end = 0;
  for (const piece of text.match(/\s*\S{1,6}/g) ?? []) {
    produced.add(piece);
    end += piece.length;
    const counted = countTokens(text.slice(0, end));
    if (counted > 30) expect(Math.abs(estimate.tokens() / counted - 1)).toBeLessThan(error);
    else expect(Math.abs(estimate.tokens() - counted)).toBeLessThan(8);
  }
});

it('assumes that text beyond the kept part continues like it', () => {
  const produced = new ProducedText();
  const estimate = new OutputEstimate(produced, estimateTokens);
  const text = corpus('english.txt');
  for (let i = 0; i < 400; i++) {
    for (const piece of text.match(/\s*\S+/g) ?? []) produced.add(piece);
    estimate.tokens();
  }
  expect(Math.abs(estimate.tokens() / (400 * countTokens(text)) - 1)).toBeLessThan(0.15);
});
