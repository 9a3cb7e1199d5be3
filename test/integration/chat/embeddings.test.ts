import { OpenAIEmbeddings } from '@langchain/openai';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import {
  balanceOf,
  errorOf,
  type GatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
  untilNothingHeld,
} from '../../harness/gateway-client.ts';
import type { Received, Send } from '../../harness/http-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, slowly } from '../../provider/acts.ts';
import { type EmbeddingsContent, embeddingsAnswer } from '../../provider/embeddings.ts';
import { createGate } from '../../provider/gate.ts';

const EMBEDS = { capabilities: ['embeddings'], context_window: 50, usd_per_million_tokens: { input: 1 } };

const gateway = withGateway((provider) => ({
  config: {
    providers: {
      fake: { base_url: provider.baseUrl },
      second: { base_url: provider.baseUrl, request: { rename: { dimensions: 'output_dimension' } } },
    },
    models: {
      embed: EMBEDS,
      counted: { ...EMBEDS, tokenizer: 'o200k_base' },
      spare: {
        ...EMBEDS,
        targets: [
          { provider: 'fake', model: 'spare-one' },
          { provider: 'second', model: 'spare-two' },
        ],
      },
      chat: {},
    },
    apis: { embeddings: true },
    retries: { per_target: 0 },
  },
}));

interface Embeddings {
  readonly data: readonly { readonly embedding: unknown; readonly index: number }[];
  readonly model: string;
  readonly usage: { readonly cost: number };
}

function ask(client: GatewayClient, body: object, more: Partial<Send> = {}): Promise<Received> {
  return client.send({
    path: '/v1/embeddings',
    body: JSON.stringify({ model: 'embed', input: 'Hello', ...body }),
    ...more,
    headers: { 'content-type': 'application/json', ...more.headers },
  });
}

const answers = (content: EmbeddingsContent = {}, model = 'embed') =>
  gateway.provider.script(model, embeddingsAnswer(content));

const lastSeen = (model = 'embed') => gateway.provider.requests(model).at(-1);

test('body and vectors pass unchanged, the usage is the charged one, and the generation names the API', async () => {
  const client = await gateway.openClient();
  answers({ usage: { prompt_tokens: 7, total_tokens: 7, cost: 0.5 }, members: { provider: 'X', x_cost: 3 } });
  const received = await ask(client, { input: ['Hello', 'World'], dimensions: 4, user: 'ada' });
  expect(jsonOf<Embeddings>(received)).toEqual({
    object: 'list',
    model: 'embed',
    data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: expect.any(Array) })),
    usage: { prompt_tokens: 7, total_tokens: 7, cost: 0.000007 },
  });
  expect(lastSeen()?.path).toBe('/v1/embeddings');
  expect(lastSeen()?.json).toEqual({
    ...{ model: 'embed', input: ['Hello', 'World'], dimensions: 4 },
    user: expect.stringMatching(/^(?!ada$)/),
  });
  const generation = await settledGeneration(client, String(received.headers['x-generation-id']));
  expect(generation).toMatchObject({
    ...{ api: 'embeddings', model: 'embed', total_cost: 0.000007, tokens_prompt: 7, tokens_completion: 0 },
    ...{ streamed: false, cancelled: false, finish_reason: null },
  });
});

test("the provider's prices are removed from each vector too", async () => {
  answers({ ofVector: { cost: 1, provider: 'X' } });
  const { data } = jsonOf<Embeddings>(await ask(await gateway.openClient(), { input: ['a', 'b'] }));
  expect(data.map((one) => Object.keys(one))).toEqual(Array(2).fill(['object', 'index', 'embedding']));
});

test.each(['float', 'base64', undefined] as const)('the official SDK gets vectors: encoding %s', async (encoding) => {
  const { key } = await gateway.stack.operator.customer();
  const openai = new OpenAI({ baseURL: `${gateway.stack.origin}/v1`, apiKey: key });
  answers();
  const options = encoding === undefined ? {} : { encoding_format: encoding };
  const { data, usage } = await openai.embeddings.create({ model: 'embed', input: ['a', 'b'], ...options });
  // Without `encoding_format`, the SDK requests base64 and decodes it.
  expect(lastSeen()?.json?.encoding_format).toBe(encoding ?? 'base64');
  expect(data).toHaveLength(2);
  if (encoding === 'base64') expect(typeof data[1]?.embedding).toBe('string');
  else expect(data[1]?.embedding[0]).toBeCloseTo(2 / 3, 6);
  expect(usage.prompt_tokens).toBe(2);
});

test('LangChain gets vectors', async () => {
  const { key } = await gateway.stack.operator.customer();
  const configuration = { baseURL: `${gateway.stack.origin}/v1` };
  const embeddings = new OpenAIEmbeddings({ model: 'embed', apiKey: key, configuration });
  answers();
  const vectors = await embeddings.embedDocuments(['a', 'b']);
  expect(vectors.map(([first]) => first)).toEqual([expect.closeTo(1 / 3, 6), expect.closeTo(2 / 3, 6)]);
});

test('an input of tokens is held and charged by their exact number', async () => {
  // The exact price of ten tokens.
  const client = await gateway.openClient({ credit: '0.00001' });
  answers({ usage: { prompt_tokens: 10, total_tokens: 10 } });
  const input = [
    [1, 2, 3, 4, 5],
    [6, 7, 8, 9, 10],
  ];
  const tooMany = await ask(client, { input: [...input, [11]] });
  expect([outcome(tooMany), errorOf(tooMany).metadata]).toEqual([
    '402 insufficient_credits',
    expect.objectContaining({ estimated_usd: 0.000011, available_usd: 0.00001 }),
  ]);
  expect(outcome(await ask(client, { input }))).toBe('200');
  expect(lastSeen()?.json?.input).toEqual(input);
  await untilNothingHeld(client);
  expect(await balanceOf(client)).toBe(0);
});

test('text is held at its ceiling while the provider works', async () => {
  const client = await gateway.openClient({ credit: '1' });
  const gate = createGate();
  gateway.provider.script('embed', gate.before(embeddingsAnswer()));
  const asked = ask(client, { input: ['four', 'five5'] });
  await gate.waitFor(1);
  const credits = async () => jsonOf<{ data: { held: number } }>(await client.get('/v1/credits')).data;
  // The ceiling is one token for each byte, plus two for each text.
  expect((await credits()).held).toBe((9 + 4) / 1e6);
  gate.open();
  await asked;
  await untilNothingHeld(client);
});

test('a usage above the hold is returned as reported, and the customer pays the hold', async () => {
  const client = await gateway.openClient();
  answers({ usage: { prompt_tokens: 400, total_tokens: 400 } });
  const { usage } = jsonOf<Embeddings>(await ask(client, { input: [1, 2, 3] }));
  expect(usage).toEqual({ prompt_tokens: 400, total_tokens: 400, cost: 0.000003 });
});

test.each([null, {}, { prompt_tokens: 0 }, { prompt_tokens: 1e9 }])(
  'without a plausible usage (%j) each text is counted separately, and tokens by their number',
  async (usage) => {
    const client = await gateway.openClient();
    const input = ['Hello world.', '\n', 'tokens of Ωmega', '.\n\n'];
    answers({ usage });
    const ofTexts = jsonOf<Embeddings>(await ask(client, { input }));
    const truth = input.reduce((sum, text) => sum + countTokens(text), 0);
    expect(ofTexts.usage).toEqual({ prompt_tokens: truth, total_tokens: truth, cost: truth / 1e6 });
    answers({ usage });
    const ofTokens = jsonOf<Embeddings>(await ask(client, { input: [[1, 2], [3]] }));
    expect(ofTokens.usage).toEqual({ prompt_tokens: 3, total_tokens: 3, cost: 0.000003 });
  },
);

test('a usage with only `total_tokens` is accepted', async () => {
  answers({ usage: { total_tokens: 4 } });
  const { usage } = jsonOf<Embeddings>(await ask(await gateway.openClient(), {}));
  expect(usage).toMatchObject({ prompt_tokens: 4, cost: 0.000004 });
});

test('a client that disconnects is charged, because the response is read to its end', async () => {
  const client = await gateway.openClient();
  const before = await balanceOf(client);
  const leaving = new AbortController();
  const gate = createGate();
  gateway.provider.script('embed', gate.before(slowly(100, embeddingsAnswer())));
  const asked = ask(client, {}, { signal: leaving.signal }).catch(() => undefined);
  await gate.waitFor(1);
  leaving.abort();
  await asked;
  gate.open();
  await expect.poll(() => balanceOf(client)).toBeCloseTo(before - 0.000001, 9);
  await untilNothingHeld(client);
});

test('another target serves when the first fails, with its own path and fields', async () => {
  gateway.provider.script('spare-one', errorAnswer(500, 'broken'));
  gateway.provider.script('spare-two', embeddingsAnswer());
  const received = await ask(await gateway.openClient(), { model: 'spare', dimensions: 8 });
  expect([outcome(received), jsonOf<Embeddings>(received).model]).toEqual(['200', 'spare']);
  expect(lastSeen('spare-two')?.json).toEqual({ model: 'spare-two', input: 'Hello', output_dimension: 8 });
});

test.each([
  ['a chat completion', jsonAnswer()],
  ['no vectors', embeddingsAnswer({ members: { data: [] } })],
  ['vectors of another form', embeddingsAnswer({ members: { data: [{ vector: [1] }] } })],
  ['an error with a good status', embeddingsAnswer({ members: { error: { message: 'no' } } })],
])('%s is an error of the provider, and free', async (_name, act) => {
  const client = await gateway.openClient();
  const before = await balanceOf(client);
  gateway.provider.script('embed', act);
  expect(outcome(await ask(client, {}))).toMatch(/^50[23] upstream_error$/);
  expect(await balanceOf(client)).toBe(before);
});

test('a response of 20 MB passes unchanged', async () => {
  answers({ dimensions: 1000 });
  const received = await ask(await gateway.openClient(), { input: Array(1000).fill('a') });
  expect(received.text.length).toBeGreaterThan(15e6);
  expect(jsonOf<Embeddings>(received).data).toHaveLength(1000);
  expect(jsonOf<Embeddings>(received).usage.cost).toBe(0.001);
});

test('each input has the whole context window; a text is counted before it is refused', async () => {
  const client = await gateway.openClient();
  const long = 'word '.repeat(40);
  answers();
  expect(outcome(await ask(client, { input: Array(10).fill(long) }))).toBe('200');
  for (const input of [
    ['a', 'word '.repeat(60)],
    [[1], Array(51).fill(1)],
  ]) {
    const refused = await ask(client, { input });
    expect([outcome(refused), errorOf(refused).param]).toEqual(['400 context_length_exceeded', 'input']);
  }
  // The estimate of this text is above the window, its token count is below.
  const words = 'internationalization '.repeat(20);
  gateway.provider.script('counted', embeddingsAnswer());
  const truth = countTokens(words);
  expect(truth).toBeLessThan(50);
  expect(outcome(await ask(client, { input: [words, 'a'] }))).toBe('400 context_length_exceeded');
  expect(outcome(await ask(client, { model: 'counted', input: [words, 'a'] }))).toBe('200');
});

test('the message of a refusal says which endpoint serves a model', async () => {
  const client = await gateway.openClient();
  const chat = await client.chat({ model: 'embed' });
  const embeddings = await ask(client, { model: 'chat' });
  expect([chat, embeddings].map(outcome)).toEqual(Array(2).fill('404 model_not_found'));
  expect(errorOf(chat).message).toContain('POST /v1/embeddings');
  expect(errorOf(embeddings).message).toContain('POST /v1/chat/completions');
  expect(outcome(await client.send({ path: '/v1/embeddings', method: 'GET' }))).toBe('404 route_not_found');
});

test('tpm counts the input, and embeddings need the scope of chat', async () => {
  const client = await gateway.openClient({ organization: { tokensPerMinute: 10 } });
  answers({ usage: { prompt_tokens: 5 } });
  const received = await ask(client, { input: [[1, 2, 3, 4], [5]] });
  expect(received.headers['x-ratelimit-remaining-tokens']).toBe('5');
  expect(outcome(await ask(client, { input: [1, 2, 3, 4, 5, 6] }))).toBe('429 tpm_exceeded');
  const reader = await gateway.openClient({ scopes: ['usage:read'] });
  expect(outcome(await ask(reader, {}))).toBe('403 missing_scope');
});

test('GET /v1/models shows that a model serves embeddings', async () => {
  const received = await (await gateway.openClient()).get('/v1/models');
  const { data } = jsonOf<{ data: { id: string }[] }>(received);
  expect(data.find(({ id }) => id === 'embed')).toMatchObject({
    ...{ capabilities: ['embeddings'], context_window: 50, max_output_tokens: 0 },
    architecture: { input_modalities: ['text'], output_modalities: ['embeddings'] },
    supported_parameters: ['dimensions', 'encoding_format', 'user'],
    pricing: { input: 1, output: 0 },
  });
});
