import { describe, expect, test } from 'vitest';
import { SCENARIOS, streamOf } from '#ext-proc/delivery/other-apis.fixture.ts';
import { SCENARIOS as MESSAGES } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { gather } from '#ext-proc/dialects/responses/gathered-stream.fixture.ts';
import { SCENARIOS as RESPONSES } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import {
  balanceOf,
  eventsOf,
  jsonOf,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { raw, rawAnswer, reset } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';

const APIS = ['responses', 'anthropic'] as const;
const JSON_TYPE = { 'content-type': 'application/json' };

const gateway = withGateway((provider) => ({
  config: {
    providers: { fake: { base_url: provider.baseUrl, on_disconnect: 'abort' } },
    models: {
      responses: { capabilities: ['tools'], reasoning_efforts: ['low'], targets: [target('responses')] },
      anthropic: { capabilities: ['tools'], reasoning_efforts: ['low'], targets: [target('anthropic')] },
    },
    retries: { per_target: 0 },
  },
}));

function target(api: (typeof APIS)[number]) {
  return { provider: 'fake', model: api, api };
}

/** Exact charges at 1 USD per million tokens. */
const COST = { responses: 0.00038, anthropic: 0.002452 } as const;
const TOKENS = { responses: [328, 52], anthropic: [2400, 52] } as const;

const whole = (body: object): Act => rawAnswer(200, JSON_TYPE, JSON.stringify(body));

function eventsFor(api: (typeof APIS)[number], name: string): readonly object[] {
  return SCENARIOS.find((one) => one.api === api && one.name === name)?.events ?? [];
}

describe.each(APIS)('a model whose provider speaks %s', (api) => {
  const body = { responses: RESPONSES, anthropic: MESSAGES }[api];

  test('answers JSON and streams with calls, charged to the nano-dollar, and the same again as a replay', async () => {
    const client = await gateway.openClient();
    const before = await balanceOf(client);
    gateway.provider.script(api, whole(body.PARALLEL_CALLS), raw(streamOf(eventsFor(api, 'PARALLEL_CALLS'))));
    const asked = await client.chat({ model: api });
    const completion = jsonOf<Completion>(asked);
    expect(completion.model).toBe(api);
    expect(completion.usage).toMatchObject({ cost: COST[api] });
    expect(completion.choices[0]?.message.tool_calls).toHaveLength(2);

    const request = { model: api, stream: true, stream_options: { include_usage: true } };
    const more = { headers: { 'idempotency-key': `of-${api}` } };
    const streamed = await client.chat(request, more);
    const gathered = gather(eventsOf(streamed));
    expect(gathered).toMatchObject({ isDone: true, finishReason: 'tool_calls', usage: { cost: COST[api] } });
    expect(gathered.message).toEqual(completion.choices[0]?.message);
    await untilNothingHeld(client);
    expect((await client.chat(request, more)).text).toBe(streamed.text);
    expect(before - (await balanceOf(client))).toBeCloseTo(2 * COST[api], 9);
    const generation = await settledGeneration(client, completion.id);
    const [tokens_prompt, tokens_completion] = TOKENS[api];
    expect(generation).toMatchObject({ tokens_prompt, tokens_completion });
  });

  test('gets the reasoning of a turn back in the next one', async () => {
    const client = await gateway.openClient();
    gateway.provider.script(api, raw(streamOf(eventsFor(api, 'PARALLEL_CALLS'))), whole(body.TEXT));
    const { message } = gather(eventsOf(await client.chat({ model: api, stream: true })));
    const results = ['paris', 'bogota'].map((city) => ({
      ...{ role: 'tool', content: 'Sunny.' },
      tool_call_id: { responses: `call_${city}`, anthropic: city === 'paris' ? 'toolu_01paris' : 'toolu_02bogota' }[
        api
      ],
    }));
    const messages = [{ role: 'user', content: 'Weather?' }, message, ...results];
    expect(outcome(await client.chat({ model: api, messages, reasoning_effort: 'low' }))).toBe('200');
    const sent = JSON.stringify(gateway.provider.requests(api).at(-1)?.json);
    expect(sent).toContain(api === 'responses' ? '"encrypted_content":"gAAAAAB-first"' : '"signature":"EqQBCg');
  });

  test('ends a broken stream with the error and charges what came', async () => {
    const client = await gateway.openClient();
    const cut = streamOf(eventsFor(api, 'TEXT').slice(0, -3));
    gateway.provider.script(api, async (call) => {
      call.writeHead(200, { 'content-type': 'text/event-stream' });
      await call.write(cut);
      await reset(call);
    });
    const received = await client.chat({ model: api, stream: true });
    const events = eventsOf(received);
    expect(events.at(-1)).toBe('[DONE]');
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ error: { code: 'upstream_error' } });
    const generation = await settledGeneration(client, String(received.headers['x-generation-id']));
    expect(generation).toMatchObject({ finish_reason: 'error' });
    expect(Number(generation.tokens_completion)).toBeGreaterThan(5);
  });
});

interface Completion {
  readonly id: string;
  readonly model: string;
  readonly usage: object;
  readonly choices: readonly {
    readonly finish_reason: string;
    readonly message: { readonly tool_calls?: readonly object[] };
  }[];
}
