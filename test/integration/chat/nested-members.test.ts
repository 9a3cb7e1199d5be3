import { beforeAll, expect, test } from 'vitest';
import { errorOf, type GatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/**
 * The gateway must judge what a provider's parser reads: some compare names without case, and the
 * last counts. What is accepted arrives in the official form.
 */
let client: GatewayClient;

const gateway = withGateway({
  config: {
    models: {
      a: { capabilities: ['vision'] },
      all: {
        capabilities: ['tools', 'vision', 'files'],
        context_window: 50_000,
        usd_per_million_tokens: { input: 1, output: 1 },
      },
    },
  },
});

beforeAll(async () => {
  client = await gateway.openClient();
});

const INLINE = 'data:image/png;base64,QUJD';
const INSIDE = 'http://169.254.169.254/';

test.each([
  ['image_url.URL', `{"type":"image_url","image_url":{"url":"${INLINE}","URL":"${INSIDE}"}}`],
  ['image_url.URL', `{"type":"image_url","image_url":{"url":"${INLINE}","\\u0055RL":"${INSIDE}"}}`],
  ['Type', `{"type":"text","text":"hi","Type":"image_url"}`],
  ['image_url', `{"type":"text","text":"hi","image_url":{"url":"${INSIDE}"}}`],
  ['video_url', `{"type":"text","text":"hi","video_url":{"url":"${INSIDE}"}}`],
])('%s in %s is refused, and no provider is asked', async (member, part) => {
  const asked = gateway.provider.requests('a').length;
  const answer = await client.send({
    path: '/v1/chat/completions',
    body: `{"model":"a","messages":[{"role":"user","content":[${part}]}]}`,
    headers: { 'content-type': 'application/json' },
  });
  expect([outcome(answer), errorOf(answer).param]).toEqual(['400 invalid_request', `messages[0].content[0].${member}`]);
  expect(gateway.provider.requests('a')).toHaveLength(asked);
});

test.each(['user', 'safety_identifier', 'prompt_cache_key'])('%s has at most 512 characters', async (field) => {
  expect(outcome(await client.chat({ model: 'a', [field]: '😀'.repeat(512) }))).toBe('200');
  const refused = await client.chat({ model: 'a', [field]: 'x'.repeat(10_000) });
  expect([outcome(refused), errorOf(refused).param]).toEqual(['400 invalid_request', field]);
});

const PDF = 'data:application/pdf;base64,JVBERi0xLjc=';
const withFile = (model: string) => ({
  model,
  max_tokens: 10,
  messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: PDF } }] }],
});

test('official forms reach the provider, and what is for the gateway stays', async () => {
  const messages = [
    { role: 'user', content: [{ type: 'image_url', image_url: INLINE }] },
    { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: 'free' } }] },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ];
  const tools = {
    tools: [{ type: 'custom', custom: { name: 'f' } }],
    tool_choice: { type: 'custom', custom: { name: 'f' } },
  };
  const prediction = { type: 'content', content: 'x' };
  const kept = { store: false, metadata: { team: 'metadata-sentinel' }, modalities: ['text'], audio: null };
  const answer = await client.chat({
    ...{ model: 'all', messages, prediction, service_tier: 'auto', ...tools },
    ...kept,
  });
  expect(outcome(answer)).toBe('200');
  const sent = gateway.provider.requests('all').at(-1)?.json;
  expect(sent).toEqual({
    ...{ model: 'all', max_tokens: expect.any(Number), prediction, service_tier: 'default', ...tools },
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: INLINE } }] }, ...messages.slice(1)],
  });
  expect(outcome(await client.chat({ ...withFile('all'), user: 'user-sentinel' }))).toBe('200');
  expect(gateway.provider.requests('all').at(-1)?.json).toMatchObject({ messages: withFile('all').messages });
  await expect.poll(() => gateway.stack.logs()).toContain(answer.headers['x-request-id']);
  expect(gateway.stack.logs()).not.toMatch(/(metadata|user)-sentinel/);
});

test('a file holds the context window, and needs a model that reads files', async () => {
  const refused = await client.chat(withFile('a'));
  expect([outcome(refused), errorOf(refused).param]).toEqual(['400 invalid_request', 'messages[0].content[0].file']);
  const poor = await gateway.openClient({ credit: '0.0001' });
  const { metadata } = errorOf(await poor.chat(withFile('all')));
  // Both prices are a dollar for a million tokens.
  expect(metadata.estimated_usd).toBe(0.05001);
});
