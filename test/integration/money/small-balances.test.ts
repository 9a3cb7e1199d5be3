import { expect, test } from 'vitest';
import { TEXT as MESSAGE } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { TEXT as RESPONSE } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { errorOf, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, rawAnswer } from '../../provider/acts.ts';
import { SHIPPED, shippedModels } from './shipped-models.ts';

const { providers, models } = SHIPPED;
const gateway = withGateway(shippedModels);

const JSON_TYPE = { 'content-type': 'application/json' };
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
