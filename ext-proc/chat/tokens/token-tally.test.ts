import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { acceptedChat } from '#test/fixtures/chat-request.ts';

const FOLDER = new URL('../../../test/corpus/', import.meta.url);
const written = Object.fromEntries(
  readdirSync(FOLDER).map((file) => [file.replace('.txt', ''), readFileSync(new URL(file, FOLDER), 'utf8')]),
);
const noise = Buffer.concat(Array.from({ length: 64 }, (_, i) => createHash('sha256').update(`block ${i}`).digest()));

const CORPUS: Readonly<Record<string, string>> = {
  ...written,
  base64: noise.toString('base64'),
  hex: noise.toString('hex'),
  'pretty-json': JSON.stringify(JSON.parse(written['minified-json'] ?? '{}'), null, 4),
  'deep-indentation': (written['code-python'] ?? '').replaceAll('\n', '\n\t\t\t'),
  'upper-case': (written.english ?? '').toUpperCase(),
  'random-ascii': [...noise].map((byte) => String.fromCharCode(32 + (byte % 95))).join(''),
  'random-unicode': [...noise].map((byte, i) => String.fromCodePoint(0x100 + byte * 97 + i)).join(''),
  spaces: ' '.repeat(3000),
  tabs: '\t'.repeat(3000),
  lines: '-'.repeat(1000) + '='.repeat(1000),
};

/**
 * The weights are meant for text: these are noise or nothing at all, where only the ceiling
 * matters.
 */
const NOT_TEXT: ReadonlySet<string> = new Set(['spaces', 'tabs', 'lines', 'random-unicode']);

const user = (content: unknown, more: object = {}) => ({ role: 'user', content, ...more });
const tokensOf = (messages: readonly object[], more: object = {}) =>
  acceptedChat({ model: 'm', messages, ...more }).inputTokens;
const tokensOfText = (content: string) => tokensOf([user(content)]);
/**
 * Tokens that OpenAI adds to a single message: 3 for it, 1 for its role, 3 to begin the response.
 */
const FRAME = 7;

function trueCounts(text: string): { o200k: number; cl100k: number } {
  return { o200k: encodeO200k(text).length + FRAME, cl100k: encodeCl100k(text).length + FRAME };
}

describe('on the corpus', () => {
  it.each(Object.entries(CORPUS))('%s is never more than the ceiling', (_, text) => {
    const { o200k, cl100k } = trueCounts(text);
    expect(tokensOfText(text).ceiling).toBeGreaterThanOrEqual(Math.max(o200k, cl100k));
  });

  const texts = Object.entries(CORPUS).filter(([name]) => !NOT_TEXT.has(name));
  it.each(texts)('%s is estimated within 0.8 to 1.5 of o200k_base, and 0.4 to 1.3 of cl100k_base', (_, text) => {
    const { o200k, cl100k } = trueCounts(text);
    const { estimate } = tokensOfText(text);
    expect(estimate / o200k).toBeGreaterThan(0.8);
    expect(estimate / o200k).toBeLessThan(1.5);
    expect(estimate / cl100k).toBeGreaterThan(0.4);
    expect(estimate / cl100k).toBeLessThan(1.3);
  });
});

describe('the ceiling', () => {
  it('is never below the true count, for any text', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.constantFrom('\u0000', '  ', '\n', '￿', '𒀀', '👨‍👩‍👧‍👦', 'ﷺ'),
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 200 }), (text) => {
        const { ceiling } = tokensOfText(text);
        expect(ceiling).toBeGreaterThanOrEqual(encodeO200k(text).length + FRAME);
        expect(ceiling).toBeGreaterThanOrEqual(encodeCl100k(text).length + FRAME);
      }),
      { numRuns: 300 },
    );
  });

  it('covers tool definitions in the notation of templates: indented, with escapes for all but ASCII', () => {
    const schema = {
      type: 'object',
      properties: {
        größe: { type: 'array', items: { enum: ['klein', 'groß', 'путь', '大'] } },
        a: { a: { a: { a: [] } } },
      },
    };
    const tool = {
      type: 'function',
      function: { name: 'bestellen', description: 'Bestellt Schuhe in der Größe', parameters: schema },
    };
    const indented = asciiJson(JSON.stringify(tool, null, 4));
    const { ceiling } = tokensOf([user('')], { tools: [tool] });
    expect(ceiling).toBeGreaterThanOrEqual(
      Math.max(encodeO200k(indented).length, encodeCl100k(indented).length) + FRAME,
    );
  });

  it('covers a tool in the longest notation, with any tokenizer', () => {
    for (const letter of ['é', '中', '😀']) {
      const description = letter.repeat(4000);
      const tool = { type: 'function', function: { name: 'f', description } };
      const escaped = [...description].reduce((bytes, character) => bytes + 6 * character.length, 0);
      expect(tokensOf([user('')], { tools: [tool] }).ceiling).toBeGreaterThan(escaped);
    }
  });

  it('is only a little above the bytes, so that small balances can be used', () => {
    expect(tokensOfText('Hello').ceiling).toBeLessThan(200);
    expect(tokensOfText('x'.repeat(1000)).ceiling).toBeLessThan(1200);
  });
});

describe('the tally of a prompt', () => {
  const base = tokensOfText('x');
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'find_the_weather', arguments: '{"city":"Bergen"}' },
  };
  const text = (words: string) => ({ type: 'text', text: words });
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } };
  const schema = { type: 'json_schema', json_schema: { name: 's', schema: {} } };

  it.each<[string, readonly object[], object?]>([
    ['another message', [user('x'), user('')]],
    ['a name', [user('x', { name: 'ada' })]],
    ['parts', [user([text('x'), text('and more')])]],
    ['tool calls', [{ role: 'assistant', content: 'x', tool_calls: [call] }]],
    ['unknown fields of messages', [{ role: 'assistant', content: 'x', reasoning_content: 'because of that' }]],
    ['tools', [user('x')], { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['a response schema', [user('x')], { response_format: schema }],
    ['an image', [user([text('x'), image])]],
  ])('includes %s', (_, messages, more) => {
    const tokens = tokensOf(messages, more);
    expect(tokens.estimate).toBeGreaterThan(base.estimate);
    expect(tokens.ceiling).toBeGreaterThan(base.ceiling);
    expect(tokens.ceiling).toBeGreaterThanOrEqual(tokens.estimate);
  });

  it('excludes fields that a model does not read', () => {
    const extra = { user: 'someone', stop: ['x'], temperature: 1, logit_bias: { 1: 1 }, seed: 1 };
    expect(tokensOf([user('x')], { ...extra, tool_choice: 'none', stream: true })).toEqual(base);
  });
});
