import { afterAll, describe, expect, test } from 'vitest';
import { gather } from '#ext-proc/dialects/responses/gathered-stream.fixture.ts';
import {
  balanceOf,
  eventsOf,
  type GatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../harness/gateway-client.ts';
import { requirement } from '../harness/requirement.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, stall, streamAnswer, streamThen } from '../provider/acts.ts';
import { DEFAULT_TEXT } from '../provider/chat-format.ts';
import { type LiteLlmModel, type LiteLlmProxy, PROXY_KEY, startLiteLlmProxy } from './litellm-proxy.ts';
import { clientsMissing } from './run-client.ts';

const APIS = ['chat', 'responses', 'anthropic'] as const;
type Api = (typeof APIS)[number];

const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 300,
  total_tokens: 1_300,
  prompt_tokens_details: { cached_tokens: 400 },
};
const PRICES = { input: 1.2345, cached_input: 0.12345, output: 9.8765 };
/** Cost of 600 tokens at 1.2345 USD per million, 400 at 0.12345 and 300 at 9.8765. */
const COST_USD = 0.00375303;

const CALL = { id: 'call_1', name: 'weather', arguments: '{"city":"Kyiv"}' };
const TOOLS = [{ type: 'function', function: { name: CALL.name, parameters: { type: 'object' } } }];

/** LiteLLM's own mocks. It cannot mock streams of Responses or Messages. */
const MOCKS = {
  'mocked-text': 'Hello from a mock.',
  'mocked-limit': 'litellm.RateLimitError',
  'mocked-window': 'litellm.ContextWindowExceededError',
  'mocked-failure': 'litellm.InternalServerError',
};
type Mock = keyof typeof MOCKS;

/**
 * Tokens that LiteLLM counts for a mock, and their cost at `PRICES`, rounded up to the nano-dollar.
 */
const MOCKED = {
  chat: { prompt_tokens: 10, completion_tokens: 20, cost: 0.000209875 },
  responses: { prompt_tokens: 36, completion_tokens: 87, cost: 0.000903698 },
  anthropic: { prompt_tokens: 2_095, completion_tokens: 503, cost: 0.007554157 },
};

const mockOver = (mock: Mock, api: Api) => `${mock}-over-${api}`;

requirement(clientsMissing(), () => {
  let proxy: LiteLlmProxy | undefined;
  const gateway = withGateway(async (provider) => {
    // For `custom_openai` the proxy uses chat completions, whatever its own client uses.
    const litellmModel = (model_name: string, more = {}): LiteLlmModel => ({
      model_name,
      litellm_params: { model: `custom_openai/${model_name}`, api_base: provider.baseUrl, api_key: 'none', ...more },
    });
    const mocks = Object.entries(MOCKS).map(([name, mock_response]) => litellmModel(name, { mock_response }));
    proxy = await startLiteLlmProxy([...APIS.map((api) => litellmModel(api)), ...mocks]);
    const model = (name: string, api: Api) => ({
      capabilities: ['tools'],
      usd_per_million_tokens: PRICES,
      targets: [{ provider: 'litellm', model: name, api }],
    });
    const modelsOver = (api: Api) => [
      [api, model(api, api)] as const,
      ...(Object.keys(MOCKS) as Mock[]).map((mock) => [mockOver(mock, api), model(mock, api)] as const),
    ];
    return {
      config: {
        providers: { litellm: { base_url: proxy.baseUrl, api_key: PROXY_KEY } },
        models: Object.fromEntries(APIS.flatMap(modelsOver)),
        retries: { per_target: 0 },
      },
    };
  });
  afterAll(() => proxy?.close());

  interface Completion {
    readonly id: string;
    readonly choices: readonly [{ readonly message: object; readonly finish_reason: string }];
    readonly usage: object;
  }

  const charged = { prompt_tokens: 1_000, completion_tokens: 300, total_tokens: 1_300, cost: COST_USD };
  const ofCall = { id: CALL.id, function: { name: CALL.name, arguments: CALL.arguments } };

  /** Requests JSON and a stream. The provider behind LiteLLM returns the same content for both. */
  async function askBoth(client: GatewayClient, api: Api, content: { readonly toolCalls?: readonly (typeof CALL)[] }) {
    const answer = { usage: USAGE, ...content };
    gateway.provider.script(api, jsonAnswer(answer), streamAnswer(answer));
    const request = { model: api, tools: TOOLS };
    const completion = jsonOf<Completion>(await client.chat(request));
    const received = await client.chat({ ...request, stream: true, stream_options: { include_usage: true } });
    return { completion, streamed: gather(eventsOf(received)) };
  }

  describe.each(APIS)("LiteLLM's proxy with api: %s", (api) => {
    test('returns JSON and streams, each charged to the nano-dollar', async () => {
      const client = await gateway.openClient();
      const before = await balanceOf(client);
      const { completion, streamed } = await askBoth(client, api, {});
      expect(completion.choices).toMatchObject([{ message: { content: DEFAULT_TEXT }, finish_reason: 'stop' }]);
      expect(completion.usage).toMatchObject({ ...charged, prompt_tokens_details: { cached_tokens: 400 } });
      expect(streamed).toMatchObject({ message: { content: DEFAULT_TEXT }, finishReason: 'stop', isDone: true });
      expect(streamed.usage).toMatchObject({ ...charged, prompt_tokens_details: { cached_tokens: 400 } });
      const generation = await settledGeneration(client, completion.id);
      expect(generation).toMatchObject({ tokens_prompt: 1_000, tokens_completion: 300 });
      await untilNothingHeld(client);
      expect(before - (await balanceOf(client))).toBeCloseTo(2 * COST_USD, 9);
    });

    test('calls a tool, streamed or not', async () => {
      const client = await gateway.openClient();
      const { completion, streamed } = await askBoth(client, api, { toolCalls: [CALL] });
      const expected = { tool_calls: [ofCall] };
      expect(completion.choices).toMatchObject([{ message: expected, finish_reason: 'tool_calls' }]);
      expect(completion.usage).toMatchObject(charged);
      expect(streamed).toMatchObject({ message: expected, finishReason: 'tool_calls', isDone: true, usage: charged });
    });

    test.each([
      [400, '400 invalid_request'],
      [401, '500 upstream_config_error'],
      [429, '503 no_capacity'],
      [500, '503 upstream_error'],
    ])('refuses with %d before it answers, and nothing is charged', async (status, expected) => {
      const client = await gateway.openClient();
      const before = await balanceOf(client);
      const refusal = errorAnswer(status, 'Something is wrong.');
      gateway.provider.script(api, refusal, refusal);
      expect(outcome(await client.chat({ model: api }))).toBe(expected);
      expect(outcome(await client.chat({ model: api, stream: true }))).toBe(expected);
      await untilNothingHeld(client);
      expect(await balanceOf(client)).toBe(before);
    });

    test('mocks a text with its own usage', async () => {
      const client = await gateway.openClient();
      const completion = jsonOf<Completion>(await client.chat({ model: mockOver('mocked-text', api) }));
      expect(completion.choices).toMatchObject([{ message: { content: MOCKS['mocked-text'] } }]);
      expect(completion.usage).toMatchObject(MOCKED[api]);
    });
  });

  describe.each(['chat', 'anthropic'] as const)("LiteLLM's mocked errors with api: %s", (api) => {
    test.each([
      ['mocked-limit', '503 no_capacity'],
      ['mocked-window', '400 context_length_exceeded'],
      ['mocked-failure', '503 upstream_error'],
    ] as const)('%s is %s', async (mock, expected) => {
      const client = await gateway.openClient();
      expect(outcome(await client.chat({ model: mockOver(mock, api) }))).toBe(expected);
    });
  });

  test("a stream ends with an error event when LiteLLM's process dies, and later requests fail", async () => {
    const client = await gateway.openClient();
    const cut = await Promise.all(
      APIS.map(async (api) => {
        gateway.provider.script(api, streamThen(3, stall));
        let text = '';
        const seen = Promise.withResolvers<void>();
        const onPiece = (piece: string) => {
          text += piece;
          if (text.includes('Hello')) seen.resolve();
        };
        return { seen: seen.promise, answer: client.chat({ model: api, stream: true }, { onPiece }) };
      }),
    );
    await Promise.all(cut.map(({ seen }) => seen));
    await proxy?.kill();
    for (const { answer } of cut) {
      expect(gather(eventsOf(await answer))).toMatchObject({ error: { code: 'upstream_error' }, isDone: true });
    }
    await untilNothingHeld(client);
    for (const model of APIS) expect(outcome(await client.chat({ model }))).toBe('503 upstream_error');
  });
});
