import { describe, expect, it } from 'vitest';
import type { Model } from '#core/config/gateway-config.ts';
import { envelopeOf, isRefusal } from '#core/errors/refusal.ts';
import { flatTable, NO_PRICES } from '#core/pricing.ts';
import { acceptedChat, readBody, verdictOf } from '#test/fixtures/chat-request.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { checkModel } from './check-model.ts';
import type { ExtraFields } from './extra-fields.ts';

const EXTRA: ExtraFields = new Map([
  ['cache_control', 'object'],
  ['chat_template_kwargs', 'object'],
]);
const FREE: Partial<Model> = {};
const SHORT: Partial<Model> = { priceTable: { ...flatTable(NO_PRICES), cacheWrites: 'short' } };
const LONG: Partial<Model> = { priceTable: { ...flatTable(NO_PRICES), cacheWrites: 'long' } };

function judge(body: string, prices: Partial<Model>) {
  const chat = readBody(body, EXTRA);
  const model = modelWith({ capabilities: new Set(['tools', 'vision', 'files', 'json_mode']), ...prices });
  const targets = model.targets.map((target) => ({
    ...target,
    provider: { ...target.provider, extraFields: new Set(EXTRA.keys()) },
  }));
  return verdictOf(isRefusal(chat) ? chat : checkModel(chat, principalWith({}), configWith({ ...model, targets })));
}

const withFields = (fields: string, message = '"role":"user","content":"hi"') =>
  `{"model":"model-1","messages":[{${message}}]${fields === '' ? '' : `,${fields}`}}`;
const withMessage = (member: string) => withFields('', `"role":"user","content":"hi",${member}`);
const withPart = (part: string) => withFields('', `"role":"user","content":[{"type":"text","text":"a"},{${part}}]`);
const withCall = (call: string) =>
  withFields('', `"role":"assistant","tool_calls":[{"id":"c","type":"function",${call}}]`);
const withTool = (tool: string) => withFields(`"tools":[{"type":"function",${tool}}]`);

/** Places of a marker, with their paths. */
const PLACES: readonly (readonly [param: string, body: (mark: string) => string])[] = [
  ['messages[0].', (mark) => withMessage(mark)],
  ['messages[0].content[1].', (mark) => withPart(`"type":"text","text":"b",${mark}`)],
  [
    'messages[0].content[1].image_url.',
    (mark) => withPart(`"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD",${mark}}`),
  ],
  [
    'messages[0].content[1].file.',
    (mark) => withPart(`"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=",${mark}}`),
  ],
  ['messages[0].thinking_blocks[0].', (mark) => withMessage(`"thinking_blocks":[{"type":"thinking",${mark}}]`)],
  ['messages[0].tool_calls[0].', (mark) => withCall(`"function":{"name":"f","arguments":"{}"},${mark}`)],
  ['messages[0].tool_calls[0].function.', (mark) => withCall(`"function":{"name":"f","arguments":"{}",${mark}}`)],
  [
    'messages[0].function_call.',
    (mark) => withFields('', `"role":"assistant","function_call":{"name":"f","arguments":"{}",${mark}}`),
  ],
  ['tools[0].', (mark) => withTool(`"function":{"name":"f"},${mark}`)],
  ['tools[0].function.', (mark) => withTool(`"function":{"name":"f",${mark}}`)],
  ['tools[0].custom.', (mark) => withFields(`"tools":[{"type":"custom","custom":{"name":"f",${mark}}}]`)],
  ['tool_choice.function.', (mark) => withFields(`"tool_choice":{"type":"function","function":{"name":"f",${mark}}}`)],
  ['response_format.', (mark) => withFields(`"response_format":{"type":"text",${mark}}`)],
  [
    'response_format.json_schema.',
    (mark) => withFields(`"response_format":{"type":"json_schema","json_schema":{"name":"a",${mark}}}`),
  ],
  ['stream_options.', (mark) => withFields(`"stream":true,"stream_options":{${mark}}`)],
  ['prediction.', (mark) => withFields(`"prediction":{"type":"content","content":"a",${mark}}`)],
  [
    'prediction.content[0].',
    (mark) => withFields(`"prediction":{"type":"content","content":[{"type":"text","text":"a",${mark}}]}`),
  ],
  ['chat_template_kwargs.', (mark) => withFields(`"chat_template_kwargs":{${mark}}`)],
];

const CONTROL = '"cache_control":{"type":"ephemeral"}';
const BREAKPOINT = '"prompt_cache_breakpoint":{"mode":"explicit"}';

describe.each(PLACES)('a marker in %s', (place, body) => {
  it('needs a price for cache writes', () => {
    for (const [mark, name] of [
      [CONTROL, 'cache_control'],
      [BREAKPOINT, 'prompt_cache_breakpoint'],
      ['"cache_con\\u0074rol":{"type":"ephemeral"}', 'cache_control'],
      ['"\\u0070rompt_cache_breakpoint":{}', 'prompt_cache_breakpoint'],
    ] as const) {
      expect(judge(body(mark), FREE)).toBe(`invalid_request ${place}${name}`);
      expect(judge(body(mark), SHORT)).toBe('ok');
    }
  });

  it('needs a price for one hour if it requests more than five minutes', () => {
    const mark = '"cache_control":{"type":"ephemeral","ttl":"1h"}';
    expect(judge(body(mark), FREE)).toBe(`invalid_request ${place}cache_control`);
    expect(judge(body(mark), SHORT)).toBe(`invalid_request ${place}cache_control`);
    expect(judge(body(mark), LONG)).toBe('ok');
  });

  it('counts as absent if it is null', () => expect(judge(body('"cache_control":null'), FREE)).toBe('ok'));
});

describe('a request field about the cache', () => {
  it.each([
    ['"prompt_cache_options":{}', 'prompt_cache_options', 'short'],
    ['"prompt_cache_options":{"mode":"explicit","ttl":"5m"}', 'prompt_cache_options', 'short'],
    ['"prompt_cache_options":{"ttl":"30m"}', 'prompt_cache_options', 'long'],
    ['"prompt_cache_options":{"ttl":"24h"}', 'prompt_cache_options', 'long'],
    ['"prompt_cache_retention":"in_memory"', 'prompt_cache_retention', 'short'],
    ['"prompt_cache_retention":"in-memory"', 'prompt_cache_retention', 'short'],
    ['"prompt_cache_retention":"24h"', 'prompt_cache_retention', 'long'],
    ['"prompt_cache_retention":"24\\u0068"', 'prompt_cache_retention', 'long'],
    ['"prompt_cache_retention":""', 'prompt_cache_retention', 'long'],
    ['"cache_control":{"type":"ephemeral"}', 'cache_control', 'short'],
    ['"cache_control":{"type":"ephemeral","ttl":"1h"}', 'cache_control', 'long'],
  ])('%s needs a price', (field, param, lasting) => {
    const body = withFields(field);
    expect(judge(body, FREE)).toBe(`invalid_request ${param}`);
    expect(judge(body, SHORT)).toBe(lasting === 'short' ? 'ok' : `invalid_request ${param}`);
    expect(judge(body, LONG)).toBe('ok');
  });
});

describe('the lifetime that a marker requests', () => {
  const lasts = (value: string) => {
    const body = withPart(`"type":"text","text":"b","cache_control":${value}`);
    return judge(body, SHORT) === 'ok' ? 'short' : 'long';
  };

  it.each([
    ...['{}', '{"ttl":null}', '{"ttl":"5m"}', '{"ttl":"5\\u006d"}', '{"ttl":"1m"}', '{"ttl":"300s"}', '{"ttl":"0s"}'],
  ])('%s is at most five minutes', (value) => expect(lasts(value)).toBe('short'));

  it.each([
    ...['{"ttl":"1h"}', '{"ttl":"6m"}', '{"ttl":"301s"}', '{"ttl":"24h"}', '{"ttl":"1d"}', '{"ttl":"30m"}'],
    ...['{"ttl":"5M"}', '{"ttl":" 5m"}', '{"ttl":"5m0s"}', '{"ttl":"05m1h"}', '{"ttl":""}', '{"ttl":"1\\u0068"}'],
    ...['{"ttl":3600}', '{"ttl":300}', '{"ttl":true}', '{"ttl":["5m"]}', '{"ttl":{"minutes":5}}', '{"t\\u0074l":"1h"}'],
    ...['{"ttl":"5m","ttl":"1h"}', '{"ttl":"5m","TTL":"1h"}', '{"TTL":"1h"}', '{"ttl":"99999999999999m"}'],
    ...['true', '"ephemeral"', '3600', '[]', '[{"ttl":"5m"}]', 'false'],
  ])('%s counts as longer', (value) => expect(lasts(value)).toBe('long'));

  it('is that of the last member if it is repeated', () => {
    expect(lasts('{"ttl":"1h","ttl":"5m"}')).toBe('short');
    expect(lasts('{"ttl":"1h"},"cache_control":{"ttl":"5m"}')).toBe('short');
    expect(lasts('{"ttl":"5m"},"cache_con\\u0074rol":{"ttl":"1h"}')).toBe('long');
    expect(judge(withMessage('"cache_control":{},"cache_control":null'), FREE)).toBe('ok');
  });
});

describe('of several markers', () => {
  it('the first is named, or the first with a long lifetime if only that has no price', () => {
    const parts = [CONTROL, '"cache_control":{"ttl":"1h"}', BREAKPOINT].map(
      (mark) => `{"type":"text","text":"a",${mark}}`,
    );
    const body = withFields(`"prompt_cache_retention":"24h"`, `"role":"user","content":[${parts.join()}]`);
    expect(judge(body, FREE)).toBe('invalid_request messages[0].content[0].cache_control');
    expect(judge(body, SHORT)).toBe('invalid_request messages[0].content[1].cache_control');
    expect(judge(body, LONG)).toBe('ok');
  });

  it('a message says what has no price', () => {
    const message = (prices: Partial<Model>) => {
      const chat = acceptedChat(withMessage('"cache_control":{"ttl":"1h"}'));
      const result = checkModel(chat, principalWith({}), configWith(modelWith(prices)));
      return isRefusal(result) ? envelopeOf(result).error.message : '';
    };
    expect(message(FREE)).toContain('no price for writes to the prompt cache, so messages[0].cache_control');
    expect(message(SHORT)).toContain('longer than five minutes');
  });
});

describe('a name that only looks like a marker', () => {
  it.each([
    ['a property of a schema', withTool(`"function":{"name":"f","parameters":{"properties":{${CONTROL}}}}`)],
    [
      'a property of the schema of a response',
      withFields(
        `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"properties":{${BREAKPOINT}}}}}`,
      ),
    ],
    ['arguments of a call', withCall(`"function":{"name":"f","arguments":"{\\"cache_control\\":{}}"}`)],
    ['metadata, which is not sent', withFields('"metadata":{"cache_control":"1h"}')],
    ['a text', withPart('"type":"text","text":"cache_control"')],
    ['a longer name', withMessage('"my_cache_control":{},"cache_control_":{},"cache-control":{}')],
  ])('is accepted: %s', (_, body) => expect(judge(body, FREE)).toBe('ok'));

  it('is a marker in a member that is named like a schema at another place', () => {
    expect(judge(withMessage(`"parameters":{${CONTROL}}`), FREE)).toBe(
      'invalid_request messages[0].parameters.cache_control',
    );
  });
});

describe('a marker in another case', () => {
  it('is refused as a field among official names, and is a marker elsewhere', () => {
    expect(judge(withMessage('"Cache_Control":{}'), LONG)).toBe('invalid_request messages[0].Cache_Control');
    expect(judge(withMessage('"Prompt_Cache_Breakpoint":{}'), LONG)).toBe(
      'invalid_request messages[0].Prompt_Cache_Breakpoint',
    );
    const body = withMessage('"thinking_blocks":[{"Prompt_Cache_Brea\u212apoint":{}}]');
    expect(judge(body, FREE)).toBe('invalid_request messages[0].thinking_blocks[0].Prompt_Cache_Brea\u212apoint');
    expect(judge(body, SHORT)).toBe('ok');
  });
});

it('a long path of unknown members is cut', () => {
  const deep = `${`{"${'x'.repeat(1000)}":`.repeat(100)}{${CONTROL}}${'}'.repeat(100)}`;
  expect(judge(withMessage(`"a":${deep}`), FREE).length).toBeLessThan(600);
});
