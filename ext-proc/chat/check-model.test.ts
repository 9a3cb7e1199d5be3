import { describe, expect, it } from 'vitest';
import type { Model } from '#core/config/gateway-config.ts';
import { envelopeOf, isRefusal } from '#core/errors/refusal.ts';
import type { Key, Organization } from '#core/principal.ts';
import { acceptedChat } from '#test/fixtures/chat-request.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { checkModel } from './check-model.ts';

interface Given {
  readonly model?: Partial<Model>;
  readonly key?: Partial<Key>;
  readonly organization?: Partial<Organization>;
}

function requestOf(fields: object) {
  return acceptedChat({ model: 'model-1', messages: [{ role: 'user', content: 'x' }], ...fields });
}

function check(fields: object, { model, key, organization }: Given = {}) {
  return checkModel(requestOf(fields), principalWith(key, organization), configWith(modelWith(model)));
}

const TOOLS = [{ type: 'function', function: { name: 'f' } }];
const IMAGE = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }] }];
const SMALL = { organization: { maxTokens: 100 } };
const NONE = { capabilities: new Set<never>() };

function messageOf(fields: object, given: Given = {}): string {
  const refusal = check(fields, given);
  return isRefusal(refusal) ? envelopeOf(refusal).error.message : '';
}

describe('refusals', () => {
  it.each<[string, object, Given, string?]>([
    ['n_not_allowed', { n: 2 }, { organization: { allowMultipleCompletions: false } }, 'n'],
    ['json_mode_no_stream', { stream: true, response_format: { type: 'json_object' } }, {}, 'stream'],
    [
      'image_url_not_supported',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://a' } }] }] },
      {},
      'messages[0].content[0].image_url',
    ],
    ['model_not_found', { model: 'other' }, {}, 'model'],
    ['model_not_found', { model: '__proto__' }, {}, 'model'],
    ['model_not_found', {}, { model: { disabled: true } }, 'model'],
    ['model_not_found', {}, { model: { disabled: true }, key: { models: new Set() } }, 'model'],
    ['model_not_allowed', {}, { key: { models: new Set(['other']) } }, 'model'],
    ['tools_not_supported', { tools: TOOLS }, { model: NONE }, 'tools'],
    ['vision_not_available', { messages: IMAGE }, { model: NONE }, 'messages'],
    ['json_mode_not_supported', { response_format: { type: 'json_object' } }, { model: NONE }, 'response_format'],
    ['reasoning_effort_not_supported', { reasoning_effort: 'medium' }, {}, 'reasoning_effort'],
    [
      'reasoning_effort_not_supported',
      { reasoning_effort: '' },
      { model: { reasoningEfforts: [] } },
      'reasoning_effort',
    ],
    ['max_tokens_exceeds_cap', { max_tokens: 8001 }, {}, 'max_tokens'],
    ['max_tokens_exceeds_cap', { max_completion_tokens: 101 }, SMALL, 'max_completion_tokens'],
    ['context_length_exceeded', { max_tokens: 8000 }, { model: { contextWindow: 8000 } }, 'messages'],
    ['upstream_config_error', {}, { model: { problem: 'secret missing', targets: [] } }],
    ['upstream_config_error', {}, { model: { targets: [] } }],
  ])('%s', (code, fields, given, param) => {
    const refusal = check(fields, given);
    expect(refusal).toMatchObject({ kind: 'refusal', code });
    expect(isRefusal(refusal) && envelopeOf(refusal).error.param).toBe(param);
  });

  it('name what is accepted', () => {
    expect(messageOf({ reasoning_effort: 'x' })).toContain('low, high');
    expect(messageOf({ max_tokens: 9000 }, { organization: { maxTokens: 123 } })).toContain('123');
    expect(messageOf({ max_tokens: 8000 }, { model: { contextWindow: 8001 } })).toMatch(/about 80\d\d tokens.*8001/);
    expect(messageOf({ model: 'x'.repeat(5000) }).length).toBeLessThan(300);
    expect(messageOf({}, { model: { problem: 'no secret for provider openai' } })).not.toContain('openai');
  });

  it('name the endpoint of embeddings only where it is open', () => {
    const model = modelWith({ capabilities: new Set(['embeddings']) });
    const closed = configWith(model);
    for (const [config, named] of [
      [closed, false],
      [{ ...closed, apis: new Set(['embeddings'] as const) }, true],
    ] as const) {
      const refusal = checkModel(requestOf({}), principalWith({}), config);
      expect(refusal).toMatchObject({ code: 'model_not_found' });
      expect(isRefusal(refusal) && envelopeOf(refusal).error.message.includes('/v1/embeddings')).toBe(named);
    }
  });

  it('do not affect what a model can do, or fields without effect', () => {
    expect(
      check({ tools: TOOLS, messages: IMAGE, response_format: { type: 'json_object' }, reasoning_effort: 'low', n: 2 }),
    ).toMatchObject({ outputLimit: 4000 });
    expect(
      check(
        { tools: [], tool_choice: 'none', response_format: { type: 'text' }, n: 1 },
        { model: NONE, organization: { allowMultipleCompletions: false } },
      ),
    ).toHaveProperty('outputLimit');
  });
});

describe('the output limit', () => {
  const limit = (fields: object, given: Given = {}) => {
    const choice = check(fields, given);
    return isRefusal(choice) ? choice.code : choice.outputLimit;
  };
  const estimate = requestOf({}).inputTokens.estimate;

  it('is the client’s, up to the smaller of both caps', () => {
    expect(limit({ max_tokens: 1 })).toBe(1);
    expect(limit({ max_tokens: 8000 })).toBe(8000);
    expect(limit({ max_tokens: 8000 }, { organization: { maxTokens: 9000 } })).toBe(8000);
    expect(limit({ max_tokens: 100 }, SMALL)).toBe(100);
  });

  it('is the default otherwise, lowered to the cap and to what the window leaves', () => {
    expect(limit({})).toBe(4000);
    expect(limit({}, SMALL)).toBe(100);
    expect(limit({}, { model: { contextWindow: estimate + 50 } })).toBe(50);
    expect(limit({}, { model: { contextWindow: estimate + 1 } })).toBe(1);
  });

  it('is one token if the input fills the window; longer input is refused', () => {
    expect(limit({}, { model: { contextWindow: estimate } })).toBe(1);
    expect(limit({}, { model: { contextWindow: estimate - 1 } })).toBe('context_length_exceeded');
    expect(limit({ max_tokens: 10 }, { model: { contextWindow: estimate + 10 } })).toBe(10);
    expect(limit({ max_tokens: 11 }, { model: { contextWindow: estimate + 10 } })).toBe('context_length_exceeded');
  });
});

it('holds the least output that the API of a target accepts, and sends the limit unchanged', () => {
  const { targets } = modelWith();
  const speaking = (api: 'responses' | 'anthropic') => ({ targets: targets.flatMap((one) => [one, { ...one, api }]) });
  const limits = { outputLimit: 5, heldOutputTokens: 5 };
  expect(check({ max_tokens: 5 })).toMatchObject(limits);
  expect(check({ max_tokens: 5 }, { model: speaking('anthropic') })).toMatchObject(limits);
  expect(check({ max_tokens: 5 }, { model: speaking('responses') })).toMatchObject({ ...limits, heldOutputTokens: 16 });
  expect(check({ max_tokens: 17 }, { model: speaking('responses') })).toMatchObject({ heldOutputTokens: 17 });
});
