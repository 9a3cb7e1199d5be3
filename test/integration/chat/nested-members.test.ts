import { beforeAll, expect, test } from 'vitest';
import { errorOf, type GatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/**
 * The gateway must judge what a provider's parser reads: some compare names without case, and the
 * last counts.
 */
let client: GatewayClient;

const gateway = withGateway({
  config: { models: { a: { capabilities: ['vision'] } } },
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
