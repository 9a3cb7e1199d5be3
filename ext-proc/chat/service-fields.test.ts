import { describe, expect, it } from 'vitest';
import { envelopeOf, isRefusal } from '#core/errors/refusal.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { flatTable, NO_PRICES } from '#core/pricing.ts';
import { acceptedChat, readBody, sentBody, verdictOf } from '#test/fixtures/chat-request.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { CHAT_FIELDS } from './chat-fields.ts';
import { checkModel } from './check-model.ts';

const HELLO = [{ role: 'user', content: 'Hello' }];
const bodyWith = (fields: object) => ({ model: 'model-1', messages: HELLO, ...fields });
const read = (fields: object) => readBody(bodyWith(fields));
const accepted = (fields: object) => acceptedChat(bodyWith(fields));

/** What a provider is sent beside the model and the messages. */
function sent(fields: object): Record<string, unknown> {
  const { model: _model, messages: _messages, ...rest } = JSON.parse(sentBody(accepted(fields)));
  return rest;
}

describe('official fields about the service', () => {
  it.each<[string, unknown, string]>([
    ['store', false, 'ok'],
    ['store', true, 'invalid_request store'],
    ['store', 'false', 'invalid_request store'],
    ['metadata', {}, 'ok'],
    ['metadata', { a: '', ['é'.repeat(64)]: '😀'.repeat(512) }, 'ok'],
    ['metadata', Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'v'])), 'ok'],
    ['metadata', Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])), 'invalid_request metadata'],
    ['metadata', { ['k'.repeat(65)]: 'v' }, 'invalid_request metadata'],
    ['metadata', { k: 'v'.repeat(513) }, 'invalid_request metadata'],
    ['metadata', { k: 1 }, 'invalid_request metadata'],
    ['metadata', { k: null }, 'invalid_request metadata'],
    ['metadata', [], 'invalid_request metadata'],
    ['modalities', ['text'], 'ok'],
    ['modalities', ['text', 'audio'], 'invalid_request modalities'],
    ['modalities', [], 'invalid_request modalities'],
    ['modalities', 'text', 'invalid_request modalities'],
    ['service_tier', 1, 'invalid_request service_tier'],
    ['service_tier', 'x'.repeat(65), 'invalid_request service_tier'],
    ['prompt_cache_options', 'x', 'invalid_request prompt_cache_options'],
    ['prompt_cache_retention', {}, 'invalid_request prompt_cache_retention'],
    ['audio', { voice: 'alloy', format: 'wav' }, 'invalid_request audio'],
    ['web_search_options', {}, 'invalid_request web_search_options'],
    ['moderation', { model: 'x' }, 'invalid_request moderation'],
    ['functions', [{ name: 'f' }], 'invalid_request functions'],
    ['function_call', 'auto', 'invalid_request function_call'],
    ['prediction', { type: 'content', content: 'x' }, 'ok'],
    ['prediction', { type: 'content', content: [{ type: 'text', text: 'x' }] }, 'ok'],
    ['prediction', 'x', 'invalid_request prediction'],
    ['prediction', { content: 'x' }, 'invalid_request prediction.type'],
    ['prediction', { type: 'text', content: 'x' }, 'invalid_request prediction.type'],
    ['prediction', { type: 'content' }, 'invalid_request prediction.content'],
    ['prediction', { type: 'content', content: 1 }, 'invalid_request prediction.content'],
    [
      'prediction',
      { type: 'content', content: [{ type: 'refusal', refusal: 'x' }] },
      'invalid_request prediction.content[0].type',
    ],
    ['prediction', { type: 'content', content: 'x', Content: 'y' }, 'invalid_request prediction.Content'],
  ])('%s: %j is %s', (name, value, expected) => expect(verdictOf(read({ [name]: value }))).toBe(expected));

  it('are refused with what is offered instead', () => {
    const message = (fields: object) => {
      const refusal = read(fields);
      return isRefusal(refusal) ? envelopeOf(refusal).error.message : '';
    };
    for (const name of ['audio', 'web_search_options', 'moderation'])
      expect(message({ [name]: {} })).toMatch(`${name} is not offered`);
    for (const name of ['functions', 'function_call']) expect(message({ [name]: [] })).toContain('tools');
    expect(message({ store: true })).toContain('stored');
  });

  it('count as absent if they are null, like every known field', () => {
    const nulls = [...CHAT_FIELDS.keys()].filter((name) => name !== 'model' && name !== 'messages');
    expect(nulls).toHaveLength(37 - 2);
    expect(sent(Object.fromEntries(nulls.map((name) => [name, null])))).toEqual({ max_tokens: 1 });
  });

  it('are not sent, except prediction and service_tier', () => {
    expect(sent({ store: false, metadata: { a: 'b' }, modalities: ['text'] })).toEqual({ max_tokens: 1 });
    const prediction = { type: 'content', content: 'x' };
    expect(sent({ prediction })).toEqual({ max_tokens: 1, prediction });
    for (const service_tier of ['auto', 'default']) {
      expect(sent({ service_tier, seed: 1 })).toEqual({ max_tokens: 1, service_tier: 'default', seed: 1 });
    }
  });

  it('are kept without API keys, as is the user', () => {
    const { secret } = newKeySecret(0);
    expect(accepted({ metadata: { [secret]: `key ${secret}.` }, user: secret })).toMatchObject({
      metadata: JSON.stringify({ 'sk-gw-…': 'key sk-gw-….' }),
      user: 'sk-gw-…',
    });
  });

  it('include metadata, kept as JSON with each name once', () => {
    const body = `{"model":"m","messages":[{"role":"user","content":"x"}],"metadata":{"a":"1","__proto__":"2","a":"\\u0000é"}}`;
    expect(acceptedChat(body)).toHaveProperty('metadata', '{"__proto__":"2","a":"\ufffdé"}');
    expect(accepted({ metadata: {} })).not.toHaveProperty('metadata');
    expect(accepted({ user: 'ada' }).user).toBe('ada');
    expect(accepted({ user: '' }).user).toBe('');
  });

  it('include a prediction, whose text is held as input', () => {
    const without = accepted({}).inputTokens.ceiling;
    expect(accepted({ prediction: { type: 'content', content: 'x'.repeat(1000) } }).inputTokens.ceiling).toBe(
      without + 1000,
    );
  });
});

describe('fields that depend on the model', () => {
  const judge = (fields: object) =>
    verdictOf(checkModel(accepted(fields), principalWith({}), configWith(modelWith({}))));
  const DEPENDENT: readonly (readonly [param: string, fields: object])[] = [
    ['service_tier', { service_tier: 'flex' }],
    ['service_tier', { service_tier: 'Default' }],
    ['service_tier', { service_tier: '' }],
    ['prompt_cache_options', { prompt_cache_options: { mode: 'explicit' } }],
    ['prompt_cache_retention', { prompt_cache_retention: '24h' }],
  ];

  it('are accepted if the model has their price', () => {
    const flat = flatTable(NO_PRICES);
    const serviceTiers = new Map([['flex', flat]]);
    const able = configWith(modelWith({ priceTable: { ...flat, serviceTiers, cacheWrites: 'long' } }));
    const judgeAble = (fields: object) => verdictOf(checkModel(accepted(fields), principalWith({}), able));
    expect(judgeAble({ service_tier: 'flex', prompt_cache_options: { mode: 'explicit' } })).toBe('ok');
    expect(judgeAble({ service_tier: 'auto', prompt_cache_retention: '24h' })).toBe('ok');
    for (const service_tier of ['priority', 'Flex', '']) {
      expect(judgeAble({ service_tier })).toBe('invalid_request service_tier');
    }
    const fields = { service_tier: 'flex', prompt_cache_options: { mode: 'explicit' }, prompt_cache_retention: '24h' };
    expect(sent(fields)).toEqual({ max_tokens: 1, ...fields });
  });

  it('are refused by name, unless they request what every model has', () => {
    for (const [param, fields] of DEPENDENT) expect(judge(fields)).toBe(`invalid_request ${param}`);
    for (const service_tier of ['auto', 'default', null]) expect(judge({ service_tier })).toBe('ok');
  });
});
