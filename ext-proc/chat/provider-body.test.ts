import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#core/parse-json.ts';
import { acceptedChat, sentBody } from '#test/fixtures/chat-request.ts';
import type { ProviderFields } from './chat-request.ts';

const identify = (field: string, value: string) => `${field} of ${value.length}`;
const FIELDS = { model: 'upstream', outputLimit: 77, identify };
const MESSAGES = '"messages":[{"role":"user","content":"x"}]';
const HEAD = '{"model":"upstream","max_tokens":77';

const encode = (body: string, provider: Partial<ProviderFields> = {}) =>
  sentBody(acceptedChat(body), { ...FIELDS, ...provider });

describe('the body for a provider', () => {
  it('always has the provider’s model and an output limit', () => {
    expect(encode(`{"model":"m",${MESSAGES}}`)).toBe(`${HEAD},${MESSAGES}}`);
    expect(JSON.parse(encode(`{"model":"m",${MESSAGES}}`, { model: 'a"b\\ü' })).model).toBe('a"b\\ü');
  });

  it('has the limit under the provider’s name for it, and under no other', () => {
    const sent = `{"model":"m",${MESSAGES},"max_tokens":5}`;
    expect(JSON.parse(encode(sent, { outputLimitField: 'max_completion_tokens' }))).toEqual({
      model: 'upstream',
      max_completion_tokens: 77,
      messages: [{ role: 'user', content: 'x' }],
    });
    expect(encode(sent).match(/max_/g)).toHaveLength(1);
    expect(encode(`{"model":"m",${MESSAGES},"max_completion_tokens":5}`)).not.toContain('max_completion_tokens');
    const asSeed = encode(`{"model":"m",${MESSAGES},"seed":5}`, { outputLimitField: 'seed' });
    expect(asSeed.match(/seed/g)).toHaveLength(1);
  });

  it('keeps numbers, escapes and white space as they were written', () => {
    const written = `"seed":123456789012345678901234567890,"temperature":1.0,"top_p":1e-1 , "stop" : "\\u00e9\\/é\\ud83d\\ude00",
      "tools":[ {"type":"function","function":{"name":"f","parameters":{"maximum":9007199254740993,"x":0.10}}} ]`;
    expect(encode(`{${MESSAGES}, ${written} ,"model":"m"}`)).toBe(
      `${HEAD},${MESSAGES},${written.replace('1e-1 , "stop"', '1e-1,"stop"').replace(/",\s+"tools/, '","tools')}}`,
    );
  });

  it('omits fields that are null or replaced', () => {
    expect(encode(`{"n":2,"stop":"a","stop":"b","n":null,"model":"m",${MESSAGES},"user":null}`)).toBe(
      `${HEAD},"stop":"b",${MESSAGES}}`,
    );
  });

  it('has the gateway’s identities, made from the decoded values, and no others', () => {
    const sent = `{"model":"m",${MESSAGES},"user":"\\u0061b","prompt_cache_key" : "" ,"safety_identifier":"é"}`;
    expect(encode(sent)).toBe(
      `${HEAD},${MESSAGES},"user":"user of 2","prompt_cache_key":"prompt_cache_key of 0","safety_identifier":"safety_identifier of 1"}`,
    );
    expect(encode(`{"model":"m",${MESSAGES},"user":null}`)).not.toContain('user of');
  });

  it('requests the usage in every stream, and keeps the client’s other options', () => {
    const options = (given: string) =>
      encode(`{"model":"m",${MESSAGES},"stream":true${given}}`).split('"stream":true')[1];
    const asked = ',"stream_options":{"include_usage":true';
    expect(options('')).toBe(`${asked}}}`);
    expect(options(',"stream_options":null')).toBe(`${asked}}}`);
    expect(options(',"stream_options":{}')).toBe(`${asked}}}`);
    expect(options(',"stream_options":{"include_usage":false}')).toBe(`${asked}}}`);
    expect(options(',"stream_options":{"a":1.0,"include_usage":true,"b":[1, 2]}')).toBe(
      `${asked},"a":1.0,"b":[1, 2]}}`,
    );
  });

  it('requests no usage without a stream', () => {
    expect(encode(`{"model":"m",${MESSAGES},"stream":false}`)).toBe(`${HEAD},${MESSAGES},"stream":false}`);
    expect(encode(`{"model":"m",${MESSAGES},"stream_options":{"include_usage":true}}`)).toContain(
      '"stream_options":{"include_usage":true}',
    );
  });

  it('has the official form of images that are plain strings, at any place', () => {
    const url = 'data:image/png;base64,QUJD';
    const part = fc.oneof(
      fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'grapheme' }) }),
      fc.constant({ type: 'image_url', image_url: url }),
      fc.constant({ image_url: { detail: 'low', url }, type: 'image_url' }),
    );
    const messages = fc.array(fc.record({ role: fc.constant('user'), content: fc.array(part) }), { minLength: 1 });
    fc.assert(
      fc.property(messages, fc.integer({ min: 0, max: 2 }), (sent, indent) => {
        const body = encode(JSON.stringify({ messages: sent, model: 'm', seed: 1 }, null, indent));
        const official = JSON.stringify(sent).replaceAll(`"image_url":"${url}"`, `"image_url":{"url":"${url}"}`);
        expect(JSON.parse(body).messages).toEqual(JSON.parse(official));
      }),
    );
  });

  it('has an empty text in an assistant’s message that says nothing, and only there', () => {
    const calls = '"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]';
    const messages = (empty: string, added: string) =>
      `"messages":[{"content": ${empty} ,"role":"assistant"},{"role":"assistant"${added},"tool_calls":[]},` +
      `{"role":"assistant","content":${empty},"reasoning_content":"","refusal":null},` +
      `{"role":"assistant","content":null,"reasoning_content":"because"},` +
      `{"role":"assistant","content":null,${calls}},{"content":null,"refusal":"No.","role":"assistant"}]`;
    expect(encode(`{"model":"m",${messages('null', '')}}`)).toBe(`${HEAD},${messages('""', ',"content":""')}}`);
  });

  it('has the meaning of the client’s body, for any order, spacing and values of the fields', () => {
    const value = {
      messages: fc.array(
        fc.record({ role: fc.constant('user'), content: fc.string({ unit: 'grapheme' }), extra: fc.jsonValue() }),
        { minLength: 1 },
      ),
      verbosity: fc.string({ unit: 'grapheme' }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      stop: fc.array(fc.string(), { maxLength: 4 }),
      logit_bias: fc.dictionary(fc.string(), fc.integer({ min: -100, max: 100 })),
      max_tokens: fc.integer({ min: 1 }),
    };
    const body = fc.record({ model: fc.constant('m'), ...value }, { requiredKeys: ['model', 'messages'] });
    fc.assert(
      fc.property(body, fc.integer({ min: 0, max: 3 }), fc.boolean(), (fields, indent, reversed) => {
        const entries = Object.entries(fields);
        const sent = JSON.stringify(Object.fromEntries(reversed ? entries.reverse() : entries), null, indent);
        const expected = { ...(parseJson(sent) as object), model: 'upstream', max_tokens: 77 };
        expect(parseJson(encode(sent))).toEqual(expected);
      }),
    );
  });

  it('has the reasoning of tool calls for a provider that requires it, and no other change', () => {
    const calls = '"tool_calls" : [{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]';
    const written = (kept: readonly [string, string, string]) =>
      `"messages":[{"role":"user","content":"x"}, {${calls}${kept[0]} ,"role":"assistant"},{"role":"assistant",${kept[1]}"content":"\\u00e9",${calls}},` +
      `{"role":"assistant",${calls},"content":null${kept[2]}}, {"role":"assistant","content":"done"}]`;
    const sent = written(['', '"reasoning_content": null ,', ',"reasoning_content":"mine"']);
    const body = `{"model":"m",${sent}}`;
    expect(encode(body)).toBe(`${HEAD},${sent}}`);
    const kept = new Map([[1, Buffer.from('"be\\n"')]]);
    const added = written([
      ',"reasoning_content":"be\\n"',
      '"reasoning_content": " " ,',
      ',"reasoning_content":"mine"',
    ]);
    expect(encode(body, { reasoning: { member: 'reasoning_content', kept } })).toBe(`${HEAD},${added}}`);
  });

  it('has the signatures of tool calls for a provider that requires them, and no other change', () => {
    const call = (id: string, more = '') =>
      `{"id":"${id}","type":"function","function":{"name":"f","arguments":"{\\"n\\":1.0}"},"x":9007199254740993${more}}`;
    const written = (signed: string) =>
      `"messages":[{"role":"user","content":"x"}, {"role":"assistant","tool_calls":[${call('a', signed)},${call('b')}] },` +
      `{"role":"assistant","tool_calls": [ ${call('c', ',"extra_content":{"its":"own"}')} ]},{"role":"assistant","tool_calls": [ ${call('d')} ]}]`;
    const kept = new Map([[1, Buffer.from('[{"google":{"thought_signature":"s"}},null]')]]);
    const sent = encode(`{"model":"m",${written('')}}`, { reasoning: { member: 'extra_content', kept } });
    expect(sent).toBe(`${HEAD},${written(',"extra_content":{"google":{"thought_signature":"s"}}')}}`);
  });
});
