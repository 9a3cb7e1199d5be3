import fc from 'fast-check';
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as countWhole } from 'gpt-tokenizer/encoding/o200k_base';
import { pino } from 'pino';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { fourBytesEach, TokenCounter, type TokenCounterOptions } from './count-tokens.ts';
import { piecesOf } from './text-pieces.ts';

const log = pino({ level: 'silent' });
const counters: TokenCounter[] = [];
afterEach(() => void vi.useRealTimers());
afterAll(() => {
  for (const counter of counters) counter.close();
});

function counter(options: Partial<TokenCounterOptions> = {}) {
  const created = new TokenCounter({ log, ...options });
  counters.push(created);
  return created;
}

const ENGLISH = 'The quick brown fox jumps over the lazy dog, and 12345 numbers follow it. '.repeat(60);

describe('counting tokens', () => {
  // These tests are about counts, not about the time limit.
  const { countTokens, boundTokens } = counter({ timeoutMs: 60_000 });

  test('counts each text as the tokenizer does', async () => {
    const texts = [ENGLISH, '', 'ありがとう、世界。', 'function f(x) {\n  return x;\n}', '<|endoftext|> is only text'];
    const whole = texts.map((text) => countWhole(text, { disallowedSpecial: new Set() }));
    expect(await countTokens(texts)).toEqual(whole);
  });

  test('bounds prompts with the requested tokenizer: never below the whole count, and close above it', async () => {
    const texts = [ENGLISH, 'ありがとう世界中の皆さん'.repeat(200), 'zvq@<'.repeat(500), ''];
    for (const [tokenizer, whole] of [
      ['o200k_base', countWhole],
      ['cl100k_base', countCl100k],
    ] as const) {
      const bounds = await boundTokens(tokenizer, texts, 'one');
      for (const [index, text] of texts.entries()) {
        const truth = whole(text);
        expect(bounds?.[index]).toBeGreaterThanOrEqual(truth);
        expect(bounds?.[index]).toBeLessThanOrEqual(truth * 1.01);
      }
    }
  });

  test('returns to each of many callers its own count', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => countTokens([' word'.repeat(i)])));
    expect(answers).toEqual(Array.from({ length: 50 }, (_, i) => [i]));
  });

  test('takes linear time for a text without boundaries, and stays near the whole count', async () => {
    const text = 'ありがとう世界中の皆さん'.repeat(2000);
    const before = process.cpuUsage();
    const [counted = 0] = await countTokens([text]);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(5000);
    expect(counted).toBeGreaterThan(12_000 * 0.99);
    expect(counted).toBeLessThan(12_000 * 1.02);
  });

  test('does not block the event loop', async () => {
    await countTokens(['start']);
    const [ofAll, ofThis] = [process.cpuUsage(), process.threadCpuUsage()];
    await countTokens(['qwxzjk'.repeat(200_000)]);
    expect(process.threadCpuUsage(ofThis).user / process.cpuUsage(ofAll).user).toBeLessThan(0.25);
  });
});

describe('text that cannot be counted in time', () => {
  // The time goes by when the test says so: how long the next thread takes to start is not judged.
  const passTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });

  test('is estimated, and does not delay the others', async () => {
    passTime();
    const { countTokens } = counter({ timeoutMs: 10_000 });
    const long = 'qwxzjk'.repeat(5_000_000);
    const slow = countTokens([long]);
    vi.advanceTimersByTime(2_000);
    const alsoSlow = countTokens([long]);
    vi.advanceTimersByTime(3_000);
    const quick = countTokens([' two words']);
    vi.advanceTimersByTime(5_000);
    expect(await slow).toEqual([fourBytesEach(long)]);
    vi.advanceTimersByTime(2_000);
    expect(await alsoSlow).toEqual([fourBytesEach(long)]);
    // Estimated it would be 3: it was counted, within a time of its own.
    expect(await quick).toEqual([2]);
  });

  test('is counted all the same by a thread that starts, or each would be ended by the next late text', async () => {
    passTime();
    const { countTokens } = counter({ timeoutMs: 10_000 });
    const long = 'qwxzjk'.repeat(5_000_000);
    const slow = countTokens([long]);
    vi.advanceTimersByTime(500);
    const quick = countTokens([' two words']);
    const alsoSlow = countTokens([long]);
    vi.advanceTimersByTime(10_000);
    expect([await slow, await quick]).toEqual([[fourBytesEach(long)], [2]]);
    expect(await alsoSlow).toEqual([fourBytesEach(long)]);
  });

  test('is estimated if too much text waits, or after the end', async () => {
    const tokens = counter({ maxQueuedCharacters: 100 });
    const { countTokens } = tokens;
    expect(await countTokens([ENGLISH])).toEqual([fourBytesEach(ENGLISH)]);
    for (let n = 0; n < 3; n++) expect(await countTokens([' word'.repeat(10)])).toEqual([10]);
    const waiting = countTokens([' word'.repeat(10)]);
    tokens.close();
    expect(await waiting).toEqual([13]);
    expect(await countTokens(['12345678'])).toEqual([2]);
  });

  test('is estimated when the process ends, after the remaining time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const tokens = counter({});
    const { countTokens } = tokens;
    const waiting = countTokens([' word'.repeat(10)]);
    tokens.estimateAfter(1_000);
    vi.advanceTimersByTime(1_000);
    expect(await waiting).toEqual([13]);
    expect(await countTokens(['12345678'])).toEqual([2]);
  });
});

test("prompts are not counted if too much of their organization's text waits; others and responses still are", async () => {
  const { boundTokens, countTokens } = counter({ maxPromptCharacters: 100, timeoutMs: 60_000 });
  const [first, second, ofOther] = await Promise.all([
    boundTokens('o200k_base', [' word'.repeat(15)], 'one'),
    boundTokens('o200k_base', [' word'.repeat(15)], 'one'),
    boundTokens('o200k_base', [' word'.repeat(15)], 'other'),
  ]);
  expect([first, second, ofOther]).toEqual([[15], undefined, [15]]);
  expect(await countTokens([' word'.repeat(30)])).toEqual([30]);
  expect(await boundTokens('o200k_base', [' word'.repeat(15)], 'one')).toEqual([15]);
});

test('responses do not wait for the prompts of several organizations', async () => {
  const { boundTokens, countTokens } = counter({ timeoutMs: 60_000 });
  const order: string[] = [];
  const ends = async (name: string, count: Promise<unknown>) => {
    await count;
    order.push(name);
  };
  const prompts = ['one', 'two', 'three'].map((org) => ends(org, boundTokens('o200k_base', [' word'], org)));
  const responses = [1, 2, 3].map(() => ends('response', countTokens([' word'])));
  await Promise.all([...prompts, ...responses]);
  expect(order).toEqual(['one', 'response', 'response', 'response', 'two', 'three']);
});

test('prompts of all organizations together leave room for responses', async () => {
  const { boundTokens, countTokens } = counter({ maxQueuedCharacters: 200, timeoutMs: 60_000 });
  const prompts = ['one', 'two'].map((org) => boundTokens('o200k_base', [' word'.repeat(20)], org));
  // Estimated it would be 13.
  expect(await countTokens([' word'.repeat(10)])).toEqual([10]);
  expect(await Promise.all(prompts)).toEqual([[20], undefined]);
});

test('joined pieces equal the text, none is long, and no character is cut', () => {
  const long = ['x'.repeat(600), ' '.repeat(600), '👩‍👧'.repeat(300)];
  const part = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.constantFrom(...long));
  const text = fc.array(part, { maxLength: 6 });
  fc.assert(
    fc.property(text, (parts) => {
      const whole = parts.join('');
      const pieces = [...piecesOf(whole)];
      expect(pieces.join('')).toBe(whole);
      for (const piece of pieces) {
        expect(piece.length).toBeGreaterThan(0);
        expect(piece.length).toBeLessThanOrEqual(512);
        if (whole.isWellFormed()) expect(piece.isWellFormed()).toBe(true);
      }
    }),
  );
});
