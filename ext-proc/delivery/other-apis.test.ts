import { describe, expect, test } from 'vitest';
import { compileShaping } from '#core/config/request-shaping.ts';
import { NO_USAGE } from '#core/pricing.ts';
import { gather } from '../dialects/responses/gathered-stream.fixture.ts';
import { SharedBudget } from '../fairness/shared-budget.ts';
import { provider } from './admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';
import { COMPLETION, sendJson, sendJsonText, sendStream } from './egress.fixture.ts';
import { dataOf, type OtherApi, requestTo, SCENARIOS, streamOf } from './other-apis.fixture.ts';
import { DIALECTS } from './provider/dialects.ts';

const { egress, delivery, another } = await openDelivery();

const USAGE_OF: Readonly<Record<OtherApi, object>> = {
  responses: {
    ...{ ...NO_USAGE, promptTokens: 328, completionTokens: 52, reasoningTokens: 32 },
    ...{ cachedTokens: 128, cacheWriteTokens: 64 },
  },
  anthropic: {
    ...{ promptTokens: 2400, completionTokens: 52, reasoningTokens: 32 },
    ...{ cachedTokens: 2000, cacheWriteTokens: 300, cacheWrite1hTokens: 100 },
  },
};

/** The events of a text. */
const textOf = (api: OtherApi): readonly object[] =>
  SCENARIOS.find((one) => one.api === api && one.name === 'TEXT')?.events ?? [];

describe('a provider of another API', () => {
  test.each([
    ['responses', '/api/v1/responses', { authorization: 'Bearer secret-of-alpha' }],
    ['anthropic', '/api/v1/messages', { 'x-api-key': 'secret-of-alpha', 'anthropic-version': '2023-06-01' }],
  ] as const)('that speaks %s is asked at its path, with its headers', async (api, path, headers) => {
    egress.respondWith(sendJson({}));
    await deliverTo(delivery, client(), requestTo(api));
    expect(egress.asked[0]).toMatchObject({ path, headers });
    expect('authorization' in (egress.asked[0]?.headers ?? {})).toBe(api === 'responses');
  });

  test.each(SCENARIOS.map((scenario) => [scenario.api, scenario.name, scenario] as const))(
    '%s: a JSON response and a stream give the same message and the same charge: %s',
    async (api, _, { body, events }) => {
      egress.respondWith(sendJson(body));
      const whole = client();
      const asked = await deliverTo(delivery, whole, requestTo(api));
      const completion = JSON.parse(String(whole.responses[0]?.body));
      const [{ message }] = completion.choices;
      expect(completion).toMatchObject({ id: 'gen-TEST', model: 'public-model', object: 'chat.completion' });

      egress.respondWith(sendStream([streamOf(events)]));
      const to = client();
      const streamed = await deliverTo(delivery, to, requestTo(api, undefined, { stream: true, includeUsage: true }));
      const gathered = gather(dataOf(to.text()));
      expect(gathered.message).toEqual({ ...message, content: message.content ?? '' });
      expect(gathered.finishReason).toBe(completion.choices[0].finish_reason);
      expect(gathered).toMatchObject({ isDone: true, error: undefined, usage: { ...completion.usage, cost: 0.25 } });
      for (const { charges } of [asked, streamed]) {
        expect(charges).toMatchObject([{ usageCounted: false, usage: USAGE_OF[api] }]);
      }
    },
  );

  test('translates a large response like a small one', async () => {
    const text = 'some words '.repeat(200_000);
    const content = [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { text, id: 1 } }];
    // An integer above 2^53.
    const answer = JSON.stringify({ type: 'message', content }).replace('"id":1', '"id":9007199254740993');
    egress.respondWith(sendJsonText(answer));
    const to = client();
    await deliverTo(delivery, to, requestTo('anthropic', undefined, { responseBodyBytes: 8e6 }));
    const [call] = JSON.parse(to.text()).choices[0].message.tool_calls;
    expect(call.function.arguments).toBe(`{"text":${JSON.stringify(text)},"id":9007199254740993}`);
  });

  test('gets a body in its own API, which the configuration shapes after the translation', async () => {
    const shaping = compileShaping(undefined, {
      ...{ drop: [], rename: {}, set: { max_tool_calls: '3' }, set_with_tools: {}, roles: { developer: 'system' } },
    });
    egress.respondWith(sendJson({}));
    const chat = { messages: [{ role: 'developer', content: 'Be brief.' }], max_tokens: 9 };
    const admitted = requestTo('responses', chat);
    const targets = admitted.model.targets.map((target) => ({ ...target, shaping }));
    await deliverTo(delivery, client(), { ...admitted, model: { ...admitted.model, targets } });
    expect(JSON.parse(egress.asked[0]?.body ?? '')).toEqual({
      ...{ model: 'alpha-model', store: false, max_output_tokens: 100, max_tool_calls: 3 },
      input: [{ type: 'message', role: 'system', content: 'Be brief.' }],
    });
  });

  test('gets a large body translated like a small one', async () => {
    for (const api of ['responses', 'anthropic'] as const) {
      const chat = (content: string) => ({ user: 'u', messages: [{ role: 'user', content }] });
      egress.respondWith(sendJson({}));
      const text = 'some words '.repeat(200_000);
      await deliverTo(delivery, client(), requestTo(api, chat('small')));
      const small = egress.asked[0]?.body;
      egress.respondWith(sendJson({}));
      const memory = new SharedBudget(8_000_000);
      await deliverTo(delivery, client(memory.open()), requestTo(api, chat(text)));
      expect(egress.asked[0]?.body === small?.replace('small', text)).toBe(true);
      // Its memory is free again once it is sent.
      expect(memory.heldBytes).toBe(0);
      egress.respondWith(sendJson({}));
      const full = await deliverTo(delivery, client(new SharedBudget(1_000_000).open()), requestTo(api, chat(text)));
      expect(full.outcome).toMatchObject({ refusal: { code: 'no_capacity' }, attempts: [{ result: 'no_room' }] });
      expect(egress.asked).toEqual([]);
    }
  });
});

describe('a request that an API cannot express', () => {
  const TWO = { n: 2, messages: [{ role: 'user', content: 'Hello' }] };

  test.each(['responses', 'anthropic'] as const)('is invalid if every target speaks %s', async (api) => {
    egress.respondWith(sendJson({}));
    const to = client();
    const { outcome, charges, responsesAtRelease } = await deliverTo(delivery, to, requestTo(api, TWO));
    expect(egress.asked).toEqual([]);
    expect(outcome).toMatchObject({ status: 400, attempts: [] });
    expect(JSON.parse(String(to.responses[0]?.body)).error).toMatchObject({ code: 'invalid_request', param: 'n' });
    expect([charges, responsesAtRelease]).toEqual([[], [0]]);
  });

  test('is served by the next target, whose failure is the one that is reported', async () => {
    const providers = [provider('alpha', { api: 'responses' }), provider('beta')];
    egress.respondWith(sendJson(COMPLETION));
    const served = await deliverTo(delivery, client(), requestTo('responses', TWO, { providers }));
    expect(served.outcome).toMatchObject({ status: 200, attempts: [{ provider: 'beta', result: 'ok' }] });
    egress.respondWith(sendJson({}, 500));
    for (const order of [providers, providers.toReversed()]) {
      const failed = requestTo('responses', TWO, { providers: order, retriesPerTarget: 0 });
      expect((await deliverTo(delivery, client(), failed)).outcome).toMatchObject({
        refusal: { code: 'upstream_error' },
        attempts: [{ provider: 'beta' }],
      });
    }
  });
});

describe('an error of a provider of another API', () => {
  const anthropicError = (type: string, message = 'No.') => ({ type: 'error', error: { type, message } });
  const invalid = (message: string) => anthropicError('invalid_request_error', message);
  const openAiError = (param: string, code: string | null) => ({
    error: { message: 'Bad.', type: 'invalid_request_error', param, code },
  });
  const LONG = 'prompt is too long: 250000 tokens > 200000 maximum';
  const POOR = 'Your credit balance is too low to access the Anthropic API.';
  const TOO_LONG = { code: 'context_length_exceeded' };
  const ofParam = (param: string) => ({ code: 'invalid_request', param });

  test.each<[string, OtherApi, number, object, { readonly code: string }]>([
    ['busy', 'anthropic', 529, anthropicError('overloaded_error', 'Overloaded'), { code: 'no_capacity' }],
    ['the key', 'anthropic', 401, anthropicError('authentication_error'), { code: 'upstream_config_error' }],
    ['no money', 'anthropic', 400, invalid(POOR), { code: 'no_capacity' }],
    ['a prompt that is too long', 'anthropic', 400, invalid(LONG), TOO_LONG],
    ['a field', 'anthropic', 400, invalid('tools.0.name: too long'), ofParam('tools[0]')],
    ['a field', 'responses', 400, openAiError('text.verbosity', null), ofParam('verbosity')],
    ['a prompt that is too long', 'responses', 400, openAiError('input', 'context_length_exceeded'), TOO_LONG],
  ])('about %s is handled as for chat completions (%s)', async (_, api, status, body, refusal) => {
    egress.respondWith(sendJson(body, status));
    const to = client();
    const { outcome } = await deliverTo(delivery, to, requestTo(api, undefined, { retriesPerTarget: 0 }));
    expect(outcome.refusal?.code).toBe(refusal.code);
    expect(JSON.parse(String(to.responses[0]?.body)).error).toMatchObject(refusal);
  });

  test.each<[OtherApi, object]>([
    ['anthropic', anthropicError('overloaded_error', 'Overloaded')],
    ['responses', { type: 'error', code: 'server_error', message: 'Sorry.', param: null, sequence_number: 9 }],
  ])('is the final event of a stream that has begun (%s)', async (api, error) => {
    const begun = textOf(api).slice(0, 6);
    egress.respondWith(sendStream([streamOf([...begun, error])]));
    const to = client();
    const { outcome, charges } = await deliverTo(delivery, to, requestTo(api, undefined, { stream: true }));
    const told = dataOf(to.text());
    const translator = DIALECTS[api]?.stream();
    const chunks = begun.flatMap((event) => translator?.take('', JSON.stringify(event)) ?? []);
    expect(gather(told.slice(0, -2)).message).toEqual(gather(chunks).message);
    expect(JSON.parse(told.at(-2) ?? '')).toMatchObject({ error: { code: 'upstream_error' } });
    expect(told.at(-1)).toBe('[DONE]');
    expect(outcome).toMatchObject({ status: 200, attempts: [{ result: 'error_body' }] });
    expect(charges).toMatchObject([{ usageCounted: true, finishReason: 'error' }]);
  });

  test.each<[OtherApi, object]>([
    ['anthropic', anthropicError('overloaded_error', 'Overloaded')],
    ['responses', { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down.', param: null }],
  ])('before the first event is retried (%s)', async (api, error) => {
    egress.respondWith(sendStream([streamOf([error])]), sendStream([streamOf(textOf(api))]));
    const { outcome } = await deliverTo(delivery, client(), requestTo(api, undefined, { stream: true }));
    expect(outcome).toMatchObject({ status: 200, attempts: [{ result: 'error_body' }, { result: 'ok' }] });
  });
});

describe('a stream of a busy provider', () => {
  const failed = (code: string) => ({ type: 'response.failed', response: { error: { code, message: 'Busy.' } } });
  const message = { type: 'message', id: 'msg_1', role: 'assistant', phase: 'final_answer', content: [] };
  const begun: Readonly<Record<OtherApi, readonly object[]>> = {
    anthropic: [
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 9, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    responses: [
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: message },
    ],
  };

  test.each<[OtherApi, object]>([
    ['anthropic', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
    ['anthropic', { type: 'error', error: { type: 'rate_limit_error', message: 'Too many.' } }],
    ['responses', failed('rate_limit_exceeded')],
    ['responses', failed('server_is_overloaded')],
    ['responses', failed('slow_down')],
    ['responses', { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down.', param: null }],
    ['responses', { type: 'error', error: { type: 'rate_limit_error', code: null, message: 'Slow down.' } }],
    ['responses', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
  ])(
    'that fails before any output goes to the next target, and after the last is no_capacity (%s, %j)',
    async (api, error) => {
      const options = { stream: true, retriesPerTarget: 0 };
      for (let seen = 0; seen <= begun[api].length; seen++) {
        const fails = sendStream([streamOf([...begun[api].slice(0, seen), error])]);
        egress.respondWith(fails, sendStream([streamOf(textOf(api))]));
        const providers = ['alpha', 'beta'].map((name) => provider(`${name}-${seen}`, { api }));
        const served = await deliverTo(delivery, client(), requestTo(api, undefined, { ...options, providers }));
        expect(served.outcome).toMatchObject({ status: 200, attempts: [{ result: 'error_body' }, { result: 'ok' }] });
        egress.respondWith(fails);
        const to = client();
        const refused = await deliverTo(delivery, to, requestTo(api, undefined, options));
        expect(refused.outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
        expect([refused.charges, to.heads]).toEqual([[], []]);
      }
    },
  );
});

test('thinking that is kept for the next turn counts as memory of responses, and is freed at the end', async () => {
  const thinking = 'x'.repeat(100_000);
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } };
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking } };
  const events = textOf('anthropic');
  egress.respondWith(sendStream([streamOf([...events.slice(0, 1), block, delta, ...events.slice(-2)])]));
  for (const [bytes, result] of [
    [1_000_000, 'ok'],
    [200_000, 'no_room'],
  ] as const) {
    const small = another({ responseBudgetBytes: bytes });
    const { outcome } = await deliverTo(small, client(), requestTo('anthropic', undefined, { stream: true }));
    expect(outcome.attempts).toMatchObject([{ result }]);
    expect(small.responseBudget.heldBytes).toBe(0);
  }
});
