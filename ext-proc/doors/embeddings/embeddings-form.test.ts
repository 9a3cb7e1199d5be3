import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '#core/errors/refusal.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import type { ChatRequest } from '../../chat/chat-request.ts';
import { estimateTokens } from '../../chat/tokens/text-meter.ts';
import { EMBEDDINGS_FORM } from './embeddings-form.ts';

const read = (body: object | string) =>
  readChatRequest(
    Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    undefined,
    undefined,
    EMBEDDINGS_FORM,
  );

function accepted(body: object | string): ChatRequest {
  const request = read(body);
  if (isRefusal(request)) throw new Error(`${request.code} ${request.param} ${JSON.stringify(request.values)}`);
  return request;
}

const sent = (request: ChatRequest) =>
  JSON.parse(
    Buffer.concat(
      request.encodeFor({
        model: 'its-name',
        outputLimitField: 'max_tokens',
        identify: (_, value) => `hash of ${value}`,
      }),
    ).toString(),
  );

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
const tokens = fc.array(fc.nat(200_000), { minLength: 1, maxLength: 20 });
const input = fc.oneof(
  text,
  tokens,
  fc.array(text, { minLength: 1, maxLength: 8 }),
  fc.array(tokens, { minLength: 1, maxLength: 8 }),
);

describe('the body of a request for embeddings', () => {
  test('reaches the provider unchanged except for model and identity, and its hold is never too low', () => {
    const options = fc.record(
      {
        dimensions: fc.integer({ min: 1, max: 4096 }),
        encoding_format: fc.constantFrom('float', 'base64'),
        user: fc.string({ maxLength: 20 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(input, options, (value, more) => {
        const request = accepted({ ...more, input: value, model: 'm' });
        const user = more.user === undefined ? {} : { user: `hash of ${more.user}` };
        expect(sent(request)).toEqual({ ...more, ...user, input: value, model: 'its-name' });
        const { inputs, ceiling, estimate } = request.inputTokens;
        const texts = textsOf(value);
        const given = tokensOf(value);
        const bytes = texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
        // A token before and behind each text. Tokens are what they are.
        expect(ceiling).toBe(bytes + 2 * texts.length + given.reduce((sum, one) => sum + one, 0));
        expect(estimate).toBeLessThanOrEqual(ceiling);
        expect(inputs).toMatchObject({ count: texts.length + given.length });
        if (given.length > 0) expect(inputs?.longest).toBe(Math.max(...given));
        expect(request.promptText()).toEqual(texts);
        request.keepText(0);
        expect(request.tokensOmitted() + (inputs?.givenTokens ?? 0)).toBe(estimate);
      }),
    );
  });

  test('is accepted or refused for any JSON, without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const request = read({ model: 'm', input: value });
        if (isRefusal(request))
          expect([request.code, request.param?.slice(0, 5)]).toEqual(['invalid_request', 'input']);
      }),
    );
  });

  test('the longest of many texts is measured whole, whatever their total length', () => {
    const long = 'some words of a text '.repeat(400);
    const { inputs } = accepted({ model: 'm', input: [...Array(200).fill(long), `${long}${long}`] }).inputTokens;
    expect(inputs?.longest).toBeCloseTo(estimateTokens(long) * 2, -1);
  });

  const body = (more: object) => ({ model: 'm', input: 'x', ...more });
  test.each<[string, object | string, string, string]>([
    ['no model', { input: 'x' }, 'missing_model', 'model'],
    ['no input', { model: 'm' }, 'invalid_request', 'input'],
    ['null', body({ input: null }), 'invalid_request', 'input'],
    ['an empty text', body({ input: '' }), 'invalid_request', 'input'],
    ['no texts', body({ input: [] }), 'invalid_request', 'input'],
    ['an empty text among others', body({ input: ['a', ''] }), 'invalid_request', 'input[1]'],
    ['no tokens', body({ input: [[1], []] }), 'invalid_request', 'input[1]'],
    ['texts and tokens', body({ input: ['a', [1]] }), 'invalid_request', 'input[1]'],
    ['a token and a text', body({ input: [1, 'a'] }), 'invalid_request', 'input[1]'],
    ['part of a token', body({ input: [[1.5]] }), 'invalid_request', 'input[0][0]'],
    ['a token below 0', body({ input: [1, -1] }), 'invalid_request', 'input[1]'],
    ['an object', body({ input: { text: 'x' } }), 'invalid_request', 'input'],
    ['parts', body({ input: [{ type: 'text', text: 'x' }] }), 'invalid_request', 'input[0]'],
    ['2,049 texts', body({ input: Array(2049).fill('a') }), 'invalid_request', 'input'],
    ['no dimensions', body({ dimensions: 0 }), 'invalid_request', 'dimensions'],
    ['another encoding', body({ encoding_format: 'int8' }), 'invalid_request', 'encoding_format'],
    ['a long user', body({ user: 'u'.repeat(513) }), 'invalid_request', 'user'],
    ['a stream', body({ stream: true }), 'unknown_parameter', 'stream'],
    ['messages', body({ messages: [] }), 'unknown_parameter', 'messages'],
    ['more than 300,000 tokens and arrays', body({ input: Array(310_000).fill(1) }), 'invalid_json', 'body'],
  ])('%s is refused', (_name, given, code, param) => {
    const refusal = read(given);
    if (!isRefusal(refusal)) throw new Error('accepted');
    expect([refusal.code, refusal.param ?? param]).toEqual([code, param]);
  });

  test('2,048 arrays with 300,000 tokens in all are accepted', () => {
    const request = accepted({
      model: 'm',
      input: [...Array(2047).fill(Array(146).fill(7)), Array(300_000 - 2047 * 146).fill(7)],
    });
    expect(request.inputTokens).toMatchObject({ estimate: 300_000, ceiling: 300_000, inputs: { count: 2048 } });
  });

  test('names with escapes, null values and repeated fields are read as in chat', () => {
    const request = accepted('{"model":"m","input":["a"],"\\u0069nput":"b","dimen\\u0073ions":8,"user":null}');
    expect(sent(request)).toEqual({ model: 'its-name', input: 'b', dimensions: 8 });
  });
});

function textsOf(value: string | readonly (string | number | readonly number[])[]): readonly string[] {
  return (typeof value === 'string' ? [value] : value).filter((one) => typeof one === 'string');
}

/** The number of tokens of each input that came as tokens. */
function tokensOf(value: string | readonly (string | number | readonly number[])[]): readonly number[] {
  if (typeof value === 'string') return [];
  if (typeof value[0] === 'number') return [value.length];
  return value.flatMap((one) => (Array.isArray(one) ? [one.length] : []));
}
