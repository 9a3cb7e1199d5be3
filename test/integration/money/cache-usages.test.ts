import { expect, test } from 'vitest';
import { balanceOf, eventsOf, jsonOf, settledGeneration, untilNothingHeld } from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import type { ProviderUsage } from '../../provider/chat-format.ts';

/** Usages that name cached tokens and cache writes in providers' own ways. */
const gateway = withGateway({
  config: {
    models: {
      cached: {
        usd_per_million_tokens: { input: 2, cached_input: 0.2, cache_write: 2.5, cache_write_1h: 4, output: 10 },
      },
    },
  },
});

const TOKENS = { prompt_tokens: 2000, completion_tokens: 10, total_tokens: 2010 };
const WRITTEN = 1889;

const USAGES: readonly (readonly [who: string, details: object, cost: number, unread: boolean])[] = [
  [
    'DashScope',
    {
      prompt_tokens_details: {
        ...{ cached_tokens: 0, cache_creation_input_tokens: WRITTEN, cache_type: 'ephemeral' },
        cache_creation: { ephemeral_5m_input_tokens: WRITTEN },
      },
    },
    111 * 2 + WRITTEN * 2.5 + 10 * 10,
    false,
  ],
  [
    'LiteLLM',
    {
      prompt_tokens_details: {
        ...{ cached_tokens: 0, cache_creation_tokens: WRITTEN },
        cache_creation_token_details: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: WRITTEN },
      },
      ...{ cache_creation_input_tokens: WRITTEN, cache_read_input_tokens: 0 },
    },
    111 * 2 + WRITTEN * 4 + 10 * 10,
    false,
  ],
  ['a proxy of Anthropic', { cache_read_input_tokens: WRITTEN }, 111 * 2 + WRITTEN * 0.2 + 10 * 10, false],
  ['an unknown provider', { prompt_tokens_details: { cache_magic_tokens: WRITTEN } }, 2000 * 2 + 10 * 10, true],
];

test.each(USAGES.flatMap((usage) => [false, true].map((stream) => [stream, ...usage] as const)))(
  'stream: %s, a usage of %s is charged as reported, and counted in a metric if a field is unknown',
  async (stream, _, details, costPerMillion, unread) => {
    const client = await gateway.openClient();
    const [before, counted] = [await balanceOf(client), await unreadUsages()];
    const usage = { ...TOKENS, ...details } as ProviderUsage;
    gateway.provider.script('cached', stream ? streamAnswer({ usage }) : jsonAnswer({ usage }));
    const options = stream ? { stream_options: { include_usage: true } } : {};
    const answer = await client.chat({ model: 'cached', stream, ...options });
    const shown: { usage: { cost: number } } = stream ? JSON.parse(eventsOf(answer).at(-2) ?? '') : jsonOf(answer);
    expect(shown.usage.cost).toBeCloseTo(costPerMillion / 1e6, 9);
    await settledGeneration(client, String(answer.headers['x-generation-id']));
    await untilNothingHeld(client);
    expect(before - (await balanceOf(client))).toBeCloseTo(costPerMillion / 1e6, 9);
    await expect.poll(unreadUsages).toBe(counted + (unread ? 1 : 0));
    expect(await metric(gateway.stack.metricsOrigin, 'gateway_usage_counted_total', {})).toBe(0);
  },
);

async function unreadUsages(): Promise<number> {
  const counted = await metric(gateway.stack.metricsOrigin, 'gateway_unread_cache_usages_total', { provider: 'fake' });
  // The metric is absent before the first one.
  return Number.isNaN(counted) ? 0 : counted;
}
