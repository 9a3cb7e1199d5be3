import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../integration/failure-logs.ts';
import type { Customer } from '../integration/operator.ts';
import { type Stack, startStack } from '../integration/stack.ts';
import { errorAnswer, jsonAnswer, reset, streamAnswer, streamThen } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { requirement } from '../requirement.ts';
import { nodeClient } from './node-sdk.ts';
import { pythonClient, pythonMissing } from './python-sdk.ts';
import type { SdkClient } from './sdk-client.ts';

let provider: FakeProvider;
let stack: Stack;
let customer: Customer;
let poor: Customer;

beforeAll(async () => {
  provider = await startFakeProvider();
  const names = ['chat', 'tools', 'plain', 'broken', 'busy', 'no-tools'];
  stack = await startStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      providers: { fake: { base_url: provider.baseUrl } },
      models: Object.fromEntries(names.map((name) => [name, name === 'no-tools' ? {} : { capabilities: ['tools'] }])),
      retries: { per_target: 0 },
    },
  });
  [customer, poor] = await Promise.all([stack.operator.customer(), stack.operator.customer({ credit: '0.000001' })]);
});

afterAll(async () => {
  await stack?.close();
  await provider?.close();
});

showLogsOnFailure(() => stack);

const messages = [{ role: 'user' as const, content: 'Hello' }];
const tools = [
  { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object', properties: {} } } },
];
const toolCalls = [{ id: 'call_1', name: 'weather', arguments: '{"city":"Kyiv"}' }];

const SDKS = [
  { name: 'openai-node', missing: (): string | undefined => undefined, open: nodeClient },
  { name: 'openai-python', missing: pythonMissing, open: pythonClient },
];

describe.each(SDKS)('$name', ({ missing, open }) => {
  requirement(missing(), () => {
    let sdk: SdkClient;

    beforeAll(() => {
      sdk = open(`${stack.origin}/v1`, customer.key);
    });

    afterAll(() => sdk?.close());

    test('lists the models', async () => {
      expect((await sdk.call({ list_models: true })).models).toContain('chat');
    });

    test('completes a chat', async () => {
      const result = await sdk.call({ model: 'chat', messages });
      expect(result).toMatchObject({ model: 'chat', text: 'Hello from the provider.', finish_reason: 'stop' });
      expect(result.id).toMatch(/^gen-/);
      expect(result.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, cost: 0.000015 });
    });

    test('streams a chat, with usage when it is asked for', async () => {
      const result = await sdk.call({ model: 'chat', messages, stream: true, stream_options: { include_usage: true } });
      expect(result).toMatchObject({ text: 'Hello from the provider.', finish_reason: 'stop' });
      expect(result.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, cost: 0.000015 });
    });

    test('calls tools, whole and streamed', async () => {
      provider.script('tools', jsonAnswer({ toolCalls }), streamAnswer({ toolCalls }));
      const whole = await sdk.call({ model: 'tools', messages, tools });
      expect(whole).toMatchObject({ finish_reason: 'tool_calls', tool_calls: [['weather', '{"city":"Kyiv"}']] });
      const streamed = await sdk.call({ model: 'tools', messages, tools, stream: true });
      expect(streamed).toMatchObject({ finish_reason: 'tool_calls', tool_arguments: '{"city":"Kyiv"}' });
    });

    test('reports a wrong key, a missing balance and a wrong field with their codes', async () => {
      expect(await sdk.call({ model: 'chat', messages, api_key: 'sk-gw-wrong' })).toMatchObject({
        error: 'AuthenticationError',
        status: 401,
        code: 'invalid_api_key',
        type: 'authentication_error',
      });
      expect(await sdk.call({ model: 'chat', messages, api_key: poor.key })).toMatchObject({
        status: 402,
        code: 'insufficient_credits',
        type: 'insufficient_credits',
      });
      expect(await sdk.call({ model: 'no-tools', messages, tools })).toMatchObject({
        error: 'BadRequestError',
        status: 400,
        code: 'tools_not_supported',
        param: 'tools',
      });
      expect(await sdk.call({ model: 'no-such-model', messages })).toMatchObject({
        error: 'NotFoundError',
        code: 'model_not_found',
      });
    });

    test('reports a broken stream as an error, after the text that came', async () => {
      provider.script('broken', streamThen(3, reset));
      const result = await sdk.call({ model: 'broken', messages, stream: true });
      expect(result).toMatchObject({
        text: 'Hello from',
        error: 'APIError',
        code: 'upstream_error',
        type: 'api_error',
      });
      expect(result.message).toContain('provider');
    });

    test('reports a busy provider as no capacity', async () => {
      const busy = errorAnswer(429, 'slow down');
      provider.script('busy', busy, jsonAnswer({ text: 'at last' }));
      expect(await sdk.call({ model: 'busy', messages })).toMatchObject({ status: 503, code: 'no_capacity' });
      expect(await sdk.call({ model: 'busy', messages })).toMatchObject({ text: 'at last' });
    });
  });
});
