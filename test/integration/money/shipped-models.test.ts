import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { TEXT as MESSAGE } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { TEXT as RESPONSE } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { REPOSITORY } from '../../harness/deployment.ts';
import { errorOf, gatewayClient, jsonOf, outcome, settledGeneration } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, rawAnswer } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';
import { SHIPPED, shippedModels } from './shipped-models.ts';

const gateway = withGateway(shippedModels);
const JSON_TYPE = { 'content-type': 'application/json' };

function answers(model: string, inputTokens: number): Act {
  const usage = { input_tokens: inputTokens, output_tokens: 50 };
  const body = model.startsWith('claude')
    ? { ...MESSAGE, usage }
    : { ...RESPONSE, usage: { ...usage, total_tokens: inputTokens + 50 } };
  return rawAnswer(200, JSON_TYPE, JSON.stringify(body));
}

/** A PDF of 60 KB, with an estimate of 2,000 tokens. */
const PDF = `data:application/pdf;base64,${Buffer.alloc(60_000, '%PDF-1.7 ').toString('base64')}`;
const WITH_PDF = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Sum it up.' },
      { type: 'file', file: { filename: 'a.pdf', file_data: PDF } },
    ],
  },
];

// Prompts above the configured window, which a provider reads and bills as long prompts.
test.each([
  // 900,000 x 0.5 + 50 x 2.5. The hold is 1,000,000 cache writes for an hour at 1, and 64 x 2.5.
  { model: 'claude-haiku-5-5', tokens: 900_000, usd: 0.450125, hold: 1.00016 },
  { model: 'claude-haiku-5-5', tokens: 1_000_000, usd: 0.500125, hold: 1.00016 },
  // Below the threshold of long prompts: 100,000 x 0.1 + 50 x 0.5.
  { model: 'claude-haiku-5-5', tokens: 100_000, usd: 0.010025, hold: 1.00016 },
  // 900,000 x 0.2 + 50 x 0.75. The hold is 1,050,000 x 0.5 + 64 x 0.75.
  { model: 'gpt-6-luna', tokens: 900_000, usd: 0.1800375, hold: 0.525048 },
])(
  'a PDF of $tokens tokens for $model is held at $hold USD and charged completely',
  async ({ model, tokens, usd, hold }) => {
    expect(SHIPPED.models[model]?.context_window).toBeLessThan(tokens + 1);
    gateway.provider.script(model, answers(model, tokens));
    const body = { model, messages: WITH_PDF, max_tokens: 64 };
    const asked = gateway.provider.requests(model).length;
    const poor = await gateway.openClient({ credit: (hold - 0.0001).toFixed(6) });
    const refused = await poor.chat(body);
    expect(outcome(refused)).toBe('402 insufficient_credits');
    expect(errorOf(refused).metadata.estimated_usd).toBeCloseTo(hold, 9);
    expect(gateway.provider.requests(model)).toHaveLength(asked);

    const { organizationId, key } = await gateway.stack.operator.customer({ credit: hold.toFixed(6) });
    const client = gatewayClient(gateway.stack.origin, key);
    const served = await client.chat(body);
    expect(outcome(served)).toBe('200');
    expect(jsonOf(served).usage).toMatchObject({ prompt_tokens: tokens, cost: usd });
    await settledGeneration(client, String(served.headers['x-generation-id']));
    expect(await gateway.stack.operator.balance(organizationId)).toBeCloseTo(hold - usd, 9);
    await gateway.stack.operator.verifyLedger();
  },
);

test('a text that the provider counts above the window is charged as a long prompt', async () => {
  const model = 'gpt-6-luna';
  const numbers = readFileSync(join(REPOSITORY, 'test/corpus/numbers.txt'), 'utf8');
  const text = numbers.repeat(Math.ceil(287_000 / countTokens(numbers)));
  const tokens = countTokens(text);
  expect(tokens).toBeGreaterThan(Number(SHIPPED.models[model]?.context_window));
  gateway.provider.script(model, answers(model, tokens));
  const client = await gateway.openClient({ credit: '5' });
  const served = await client.chat({ model, messages: [{ role: 'user', content: text }], max_tokens: 64 });
  expect(outcome(served)).toBe('200');
  // Input at 0.2 and 50 tokens at 0.75, the provider's prices for long prompts.
  expect(jsonOf(served).usage).toMatchObject({ prompt_tokens: tokens, cost: (tokens * 0.2 + 50 * 0.75) / 1e6 });
});

const { providers, models } = SHIPPED;

const ANSWERS = {
  responses: rawAnswer(200, JSON_TYPE, JSON.stringify({ ...RESPONSE, usage: responseUsage(1, 1) })),
  anthropic: rawAnswer(200, JSON_TYPE, JSON.stringify({ ...MESSAGE, usage: { input_tokens: 1, output_tokens: 1 } })),
  chat: jsonAnswer({ usage: { prompt_tokens: 1, completion_tokens: 1 } }),
};

function responseUsage(input_tokens: number, output_tokens: number): object {
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}

/** The output limit that the provider was sent last, under any of its names. */
function sentLimit(model: string): unknown {
  const { max_tokens, max_completion_tokens, max_output_tokens } = gateway.provider.requests(model).at(-1)?.json ?? {};
  return max_tokens ?? max_completion_tokens ?? max_output_tokens;
}

test.each(Object.entries(models))(
  '0.01 USD pays for a short request to %s, and the 402 of a longer one names the affordable output',
  async (model, { max_output_tokens: longest, targets: [target] }) => {
    const open = () => gateway.openClient({ credit: '0.01' });
    const name = (target?.model ?? '').replace(/^\$\{\w+:-(.*)\}$/, '$1');
    const api = (providers[target?.provider ?? '']?.api ?? 'chat') as keyof typeof ANSWERS;
    gateway.provider.script(name, ANSWERS[api]);
    expect(outcome(await (await open()).chat({ model }))).toBe('200');
    const byDefault = Number(sentLimit(name));
    expect(byDefault).toBeGreaterThanOrEqual(256);

    const refused = await (await open()).chat({ model, max_tokens: longest });
    if (refused.status === 200) return expect(sentLimit(name)).toBe(longest);
    expect(outcome(refused)).toBe('402 insufficient_credits');
    const { affordable_output_tokens: paid, estimated_usd, available_usd } = errorOf(refused).metadata;
    expect(paid).toBeGreaterThanOrEqual(byDefault);
    expect([available_usd, Number(estimated_usd) > 0.01]).toEqual([0.01, true]);
    expect(outcome(await (await open()).chat({ model, max_tokens: paid }))).toBe('200');
    expect(sentLimit(name)).toBe(paid);
    expect(outcome(await (await open()).chat({ model, max_tokens: Number(paid) + 1 }))).toBe(
      '402 insufficient_credits',
    );
    return undefined;
  },
);
