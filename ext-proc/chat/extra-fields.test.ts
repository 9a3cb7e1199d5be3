import { describe, expect, test } from 'vitest';
import { OFFICIAL_FIELDS } from '#core/config/extra-fields.ts';
import type { Model } from '#core/config/gateway-config.ts';
import { isRefusal } from '#core/errors/refusal.ts';
import { acceptedChat, readBody, sentBody } from '#test/fixtures/chat-request.ts';
import { admittedRequest, provider } from '../delivery/admitted-request.fixture.ts';
import { CHAT_FIELDS } from './chat-fields.ts';
import { type ExtraFields, withTargetsFor } from './extra-fields.ts';

const EXTRA: ExtraFields = new Map([
  ['top_k', 'integer'],
  ['min_p', 'number'],
  ['think', 'boolean'],
  ['guided_regex', 'string'],
  ['chat_template_kwargs', 'object'],
  ['name', 'array'],
]);

const bodyWith = (members: string) => `{"model":"m","messages":[{"role":"user","content":"x"}],${members}}`;

function refusedWith(members: string, extra = EXTRA) {
  const result = readBody(bodyWith(members), extra);
  return isRefusal(result) ? [result.code, result.param] : result.extraFields;
}

test('the fields of the API are the official fields of the configuration', () => {
  expect([...OFFICIAL_FIELDS].toSorted()).toEqual([...CHAT_FIELDS.keys()].toSorted());
});

describe('a field beside the official ones', () => {
  test.each([
    ['"top_k":40', ['top_k']],
    ['"top_k":40.5', ['invalid_request', 'top_k']],
    ['"top_k":"40"', ['invalid_request', 'top_k']],
    ['"min_p":0.05', ['min_p']],
    ['"min_p":true', ['invalid_request', 'min_p']],
    ['"think":false,"name":[1]', ['think', 'name']],
    ['"think":"yes"', ['invalid_request', 'think']],
    ['"guided_regex":5', ['invalid_request', 'guided_regex']],
    ['"chat_template_kwargs":[]', ['invalid_request', 'chat_template_kwargs']],
    ['"name":{}', ['invalid_request', 'name']],
    ['"top_k":null', undefined],
    [String.raw`"\u0074op_k":1,"top_k":2`, ['top_k']],
    ['"Top_k":1', ['unknown_parameter', 'Top_k']],
    ['"top_p":2,"top_k":1', ['invalid_request', 'top_p']],
  ])('in %s is %j', (members, expected) => {
    expect(refusedWith(members)).toEqual(expected);
  });

  test('is unknown if it is not configured', () => {
    expect(refusedWith('"top_k":40', new Map())).toEqual(['unknown_parameter', 'top_k']);
    expect(refusedWith('"top_k":40', new Map([['topk', 'integer']]))).toEqual(['unknown_parameter', 'top_k']);
  });

  test('is sent as written, once', () => {
    const members = '"top_k":1,"seed":2,"top_k" : 12345678901234567890,"chat_template_kwargs":{"a":1.0}';
    expect(sentBody(acceptedChat(bodyWith(members), EXTRA))).toContain(
      '"seed":2,"top_k" : 12345678901234567890,"chat_template_kwargs":{"a":1.0}}',
    );
  });

  test('counts as input, with all that is nested in it', () => {
    const ceilingOf = (members: string) => acceptedChat(bodyWith(members), EXTRA).inputTokens.ceiling;
    const without = ceilingOf('"seed":1');
    expect(ceilingOf(`"chat_template_kwargs":{"a":["${'x'.repeat(5000)}"]}`)).toBeGreaterThan(without + 5000);
    expect(ceilingOf(`"guided_regex":"${'x'.repeat(5000)}"`)).toBeGreaterThan(without + 5000);
  });
});

describe('the targets of a request with extra fields', () => {
  const { model: base } = admittedRequest({
    providers: [
      provider('plain'),
      provider('one', { extraFields: new Set(['top_k']) }),
      provider('both', { extraFields: new Set(['top_k', 'min_p']) }),
      provider('other', { extraFields: new Set(['think']) }),
    ],
  });
  const namesFor = (...fields: string[]) => {
    const model = withTargetsFor(base, fields);
    return isRefusal(model) ? [model.code, model.param] : model.targets.map((target) => target.provider.name);
  };

  test('are those that accept all of them, in their order', () => {
    expect(withTargetsFor(base, [])).toBe(base);
    expect(namesFor('top_k')).toEqual(['one', 'both']);
    expect(namesFor('min_p', 'top_k')).toEqual(['both']);
  });

  test('are none if no provider accepts them', () => {
    expect(namesFor('top_k', 'guided_regex')).toEqual(['invalid_request', 'guided_regex']);
    expect(namesFor('min_p', 'think')).toEqual(['invalid_request', 'min_p']);
    const unusable: Model = { ...base, targets: [], problem: 'missing secret' };
    expect(withTargetsFor(unusable, ['top_k'])).toBe(unusable);
  });
});
