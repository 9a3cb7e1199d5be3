import { expect, test } from 'vitest';
import { TEXT as MESSAGE } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { TEXT as RESPONSE } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { balanceOf, jsonOf, untilNothingHeld } from '../../harness/gateway-client.ts';
import type { TestModel, TestProvider } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { rawAnswer } from '../../provider/acts.ts';
import { timelessModel } from './timeless-model.ts';

/**
 * Charges in USD for 1,000 prompt tokens, 200 of them cached, and 100 output tokens. If the
 * provider reports cache writes, 300 of the prompt tokens are cache writes.
 */
const USD = {
  // 500 x 0.1 + 200 x 0.01 + 300 x 0.125 + 100 x 0.5
  'openai/gpt-6-luna': 0.0001395,
  // 500 x 2 + 200 x 0.2 + 300 x 2.5 + 100 x 10
  'openai/gpt-6-sol': 0.00279,
  // 500 x 0.1 + 200 x 0.01 + 300 x 0.125 + 100 x 0.5
  'anthropic/claude-haiku-5-5': 0.0001395,
  // 500 x 2 + 200 x 0.1 + 300 x 2.5 + 100 x 10
  'anthropic/claude-sonnet-5-5': 0.00277,
  // 800 x 0.75 + 200 x 0.075 + 100 x 3.75
  'google/gemini-3.8-flash': 0.00099,
  // 800 x 1.25 + 200 x 0.125 + 100 x 10
  'google/gemini-2.5-pro': 0.002025,
  // 800 x 0.7 + 200 x 0.07 + 100 x 2.1
  'mistral/mistral-large-4': 0.000784,
  // 800 x 0.3 + 200 x 0.03 + 100 x 0.9
  'mistral/codestral-2508': 0.000336,
  // 800 x 1.32 + 200 x 0.044 + 100 x 3.96
  'deepseek/deepseek-v4-pro': 0.0014608,
  // 800 x 2 + 200 x 0.5 + 100 x 6
  'xai/grok-4.7': 0.0023,
};

const gateway = withGateway(async ({ port }) => {
  const imported = await runCommandLine(['models', 'import', ...Object.keys(USD)], {});
  if (imported.kind !== 'done') throw new Error(imported.message);
  const { providers, models } = imported.json as Imported;
  const entries = Object.entries(providers).map(([name, provider]) => {
    const { pathname } = new URL(provider.base_url ?? '');
    return [name, { ...provider, base_url: `http://127.0.0.1:${port}/${name}${pathname}`, api_key: 'key' }] as const;
  });
  const timeless = Object.fromEntries(Object.entries(models).map(([id, model]) => [id, timelessModel(model)]));
  return { config: { providers: Object.fromEntries(entries), models: timeless, retries: { per_target: 0 } } };
});

interface Imported {
  readonly providers: Readonly<Record<string, TestProvider>>;
  readonly models: Readonly<Record<string, TestModel>>;
}

const CHAT = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: {
    ...{ prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    prompt_tokens_details: { cached_tokens: 200 },
  },
};
const RESPONSE_USAGE = {
  ...{ input_tokens: 1000, output_tokens: 100, total_tokens: 1100 },
  input_tokens_details: { cached_tokens: 200, cache_write_tokens: 300 },
  output_tokens_details: { reasoning_tokens: 0 },
};
const MESSAGE_USAGE = {
  ...{ input_tokens: 500, cache_read_input_tokens: 200, cache_creation_input_tokens: 300, output_tokens: 100 },
};

/** The response of a provider in its own API. */
function answerOf(provider: string): object {
  if (provider === 'openai') return { ...RESPONSE, usage: RESPONSE_USAGE };
  return provider === 'anthropic' ? { ...MESSAGE, usage: MESSAGE_USAGE } : CHAT;
}

test('the charge for a request to each of ten imported models matches a calculation by hand', async () => {
  const client = await gateway.openClient();
  for (const [id, usd] of Object.entries(USD)) {
    const [provider = '', model = ''] = id.split('/');
    const body = JSON.stringify(answerOf(provider));
    gateway.provider.script(model, rawAnswer(200, { 'content-type': 'application/json' }, body));
    const before = await balanceOf(client);
    const received = await client.chat({ model, temperature: 0.5 });
    expect(received.status, `${id}: ${received.text}`).toBe(200);
    expect(jsonOf(received).usage, id).toMatchObject({ cost: usd });
    await untilNothingHeld(client);
    expect(before - (await balanceOf(client)), id).toBeCloseTo(usd, 9);
  }
});
