import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Customer } from '../harness/operator.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, reset, streamAnswer, streamThen } from '../provider/acts.ts';
import { describeAttempts, heldModel } from './attempts.ts';
import { describeHeartbeats } from './heartbeats.ts';
import type { SdkClient } from './sdk-client.ts';
import { SDKS } from './sdks.ts';

let customer: Customer;
let poor: Customer;

const MODELS = ['chat', 'broken', 'busy', ...SDKS.map(heldModel)];

const gateway = withGateway({
  config: {
    models: { ...Object.fromEntries(MODELS.map((id) => [id, {}])), tools: { capabilities: ['tools'] } },
    retries: { per_target: 0 },
    timeouts: { stream_idle: '4s', heartbeat: '200ms' },
  },
});

beforeAll(async () => {
  [customer, poor] = await Promise.all([
    gateway.stack.operator.customer(),
    gateway.stack.operator.customer({ credit: '0.000001' }),
  ]);
});

const messages = [{ role: 'user' as const, content: 'Hello' }];
const tools = [
  { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object', properties: {} } } },
];
const toolCalls = [{ id: 'call_1', name: 'weather', arguments: '{"city":"Kyiv"}' }];
const afterToolCall = [
  ...messages,
  {
    role: 'assistant' as const,
    tool_calls: toolCalls.map(({ id, ...call }) => ({ id, type: 'function' as const, function: call })),
  },
  { role: 'tool' as const, tool_call_id: 'call_1', content: 'sunny' },
];

describe.each(SDKS)('$name', ({ missing, open, listsModels, errors, showsCost, showsUsageOfBrokenStream }) => {
  requirement(missing, () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, ...(showsCost ? { cost: 0.000015 } : {}) };
    let sdk: SdkClient;

    beforeAll(() => {
      sdk = open(`${gateway.stack.origin}/v1`, customer.key);
    });

    afterAll(() => sdk?.close());

    if (listsModels) {
      test('lists the models', async () => {
        expect((await sdk.call({ list_models: true })).models).toContain('chat');
      });
    }

    test('completes a chat', async () => {
      const result = await sdk.call({ model: 'chat', messages });
      expect(result).toMatchObject({ model: 'chat', text: 'Hello from the provider.', finish_reason: 'stop', usage });
      expect(result.id).toMatch(/^gen-/);
    });

    test('streams a chat, with usage on request', async () => {
      const result = await sdk.call({ model: 'chat', messages, stream: true, stream_options: { include_usage: true } });
      expect(result).toMatchObject({ text: 'Hello from the provider.', finish_reason: 'stop', usage });
      expect(result).not.toHaveProperty('error');
    });

    test('calls tools, streamed or not', async () => {
      gateway.provider.script('tools', jsonAnswer({ toolCalls }), streamAnswer({ toolCalls }));
      const whole = await sdk.call({ model: 'tools', messages, tools });
      expect(whole).toMatchObject({ finish_reason: 'tool_calls', tool_calls: [['weather', '{"city":"Kyiv"}']] });
      const streamed = await sdk.call({ model: 'tools', messages, tools, stream: true });
      expect(streamed).toMatchObject({ finish_reason: 'tool_calls', tool_arguments: '{"city":"Kyiv"}' });
      gateway.provider.script('tools', jsonAnswer());
      const answered = await sdk.call({ model: 'tools', messages: afterToolCall, tools });
      expect(answered).toMatchObject({ text: 'Hello from the provider.', finish_reason: 'stop' });
      expect(gateway.provider.requests('tools').at(-1)?.json).toMatchObject({ messages: afterToolCall, tools });
    });

    test.each([false, true])('reports refusals with their codes, stream: %s', async (stream) => {
      expect(await sdk.call({ model: 'chat', messages, stream, api_key: 'sk-gw-wrong' })).toMatchObject({
        error: errors[401],
        status: 401,
        code: 'invalid_api_key',
        type: 'authentication_error',
      });
      expect(await sdk.call({ model: 'chat', messages, stream, api_key: poor.key })).toMatchObject({
        status: 402,
        code: 'insufficient_credits',
        type: 'insufficient_credits',
      });
      expect(await sdk.call({ model: 'chat', messages, stream, tools })).toMatchObject({
        error: errors[400],
        status: 400,
        code: 'tools_not_supported',
        param: 'tools',
      });
      expect(await sdk.call({ model: 'no-such-model', messages, stream })).toMatchObject({
        error: errors[404],
        code: 'model_not_found',
        message: expect.stringContaining('There is no model no-such-model.'),
      });
    });

    test('reports a stream that the provider resets, after its text', async () => {
      gateway.provider.script('broken', streamThen(3, reset));
      const result = await sdk.call({
        model: 'broken',
        messages,
        stream: true,
        stream_options: { include_usage: true },
      });
      expect(result).toMatchObject({
        text: 'Hello from',
        error: errors.stream,
        code: 'upstream_error',
        type: 'api_error',
        message: 'The model provider failed.',
      });
      if (showsUsageOfBrokenStream) expect(result.usage?.completion_tokens).toBeGreaterThan(0);
    });

    test('reports a busy provider as no capacity', async () => {
      gateway.provider.script('busy', errorAnswer(429, 'slow down'), jsonAnswer({ text: 'at last' }));
      expect(await sdk.call({ model: 'busy', messages })).toMatchObject({ status: 503, code: 'no_capacity' });
      expect(await sdk.call({ model: 'busy', messages })).toMatchObject({ text: 'at last' });
    });
  });
});

describeAttempts(() => ({ provider: gateway.provider, stack: gateway.stack, customer, poor }));

describeHeartbeats(() => ({ provider: gateway.provider, stack: gateway.stack, customer }));
