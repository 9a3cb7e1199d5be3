import { describe, expect, test } from 'vitest';
import { editObject, membersOf } from '../../dialects/json-members.ts';
import { shownUsage } from '../../dialects/shown-members.ts';
import { openDelivery } from '../client.fixture.ts';
import { COMPLETION, chunk, DONE, event, STOP, sendJson, sendStream, USAGE } from '../egress.fixture.ts';

const { egress, deliver, deliverStream } = await openDelivery();

/** As OpenRouter, xAI, Vercel's gateway, DeepInfra and Groq send them. */
const PRICES = {
  ...{ cost: 0.000417, is_byok: false, market_cost: 0.000417, upstream_inference_cost: 0.000417 },
  ...{ estimated_cost: 0.000417, cost_in_usd_ticks: 417, cost_details: { upstream_inference_cost: 0.000417 } },
  ...{ num_sources_used: 417, new_field: 417 },
};
const OF_ACCOUNT = {
  ...{ provider: 'relay-417', x_groq: { id: 'req_417' }, provider_metadata: { gateway: { cost: '417' } } },
  ...{ _hidden_params: { response_cost: 417 }, total_cost: 417, organization_id: '417' },
};
const DETAILS = {
  prompt_tokens_details: { cached_tokens: 1, audio_tokens: 0, cost: 417 },
  completion_tokens_details: { reasoning_tokens: 2, price: 417 },
};
const USAGE_WITH_PRICES = { ...USAGE, ...DETAILS, prompt_cache_hit_tokens: 1, ...PRICES };
const SHOWN_USAGE = {
  ...USAGE,
  prompt_tokens_details: { cached_tokens: 1, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 2 },
  prompt_cache_hit_tokens: 1,
  cost: 0.25,
};
const OFFICIAL = { service_tier: 'default', system_fingerprint: 'fp', obfuscation: 'xx', citations: ['https://x'] };

describe('prices and routes of the operator', () => {
  test('are not in a JSON response; known members are unchanged', async () => {
    const [choice] = COMPLETION.choices;
    const message = { ...choice?.message, reasoning_details: [{ cost: 1 }], provider_metadata: { cost: 417 } };
    const choices = [{ ...choice, message, usage: PRICES }];
    egress.respondWith(sendJson({ ...COMPLETION, ...OFFICIAL, ...OF_ACCOUNT, choices, usage: USAGE_WITH_PRICES }));
    const { to } = await deliver();
    const text = to.responses[0]?.body?.toString() ?? '';
    expect(text).not.toContain('417');
    const { provider_metadata: _hidden, ...shownMessage } = message;
    expect(JSON.parse(text)).toEqual({
      ...COMPLETION,
      ...OFFICIAL,
      id: 'gen-TEST',
      model: 'public-model',
      choices: [{ ...choice, message: shownMessage }],
      usage: SHOWN_USAGE,
    });
  });

  test.each(['alone', 'on the last chunk', 'on every chunk'])(
    'are not in a stream with its usage %s',
    async (where) => {
      const more = { ...OFFICIAL, ...OF_ACCOUNT, usage: where === 'on every chunk' ? USAGE_WITH_PRICES : null };
      const contents = ['Hello', ' there', ' again', ' and', ' more'].map((content) => chunk({ content }, null, more));
      const stop =
        where === 'alone' ? STOP : chunk({ provider_metadata: 417 }, 'stop', { ...more, usage: USAGE_WITH_PRICES });
      const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
      const alone = event({ ...base, ...more, choices: [], usage: USAGE_WITH_PRICES });
      egress.respondWith(sendStream([...contents, stop, ...(where === 'alone' ? [alone] : []), DONE]));
      const { text } = await deliverStream({ includeUsage: true });
      expect(text).not.toContain('417');
      expect(text).not.toContain('provider');
      const chunks = text
        .split('\n\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice('data: '.length)));
      expect(chunks.map(({ choices: [one] }) => one?.delta?.content ?? '').join('')).toBe('Hello there again and more');
      expect(chunks[0]).toMatchObject(OFFICIAL);
      expect(chunks.at(-1)?.usage).toEqual(SHOWN_USAGE);
    },
  );

  test('are also hidden under special names of JavaScript, and in repeated members', () => {
    const text =
      '{"prompt_tokens":1,"__proto__":{"cost":417},"prompt_tokens":2,"constructor":417,"total_tokens":{"cost":417}}';
    const members = membersOf(text);
    const shown = editObject(text, shownUsage(text, members), members);
    expect(shown).toBe('{"prompt_tokens":2,"prompt_tokens":2}');
  });
});
