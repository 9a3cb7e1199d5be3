// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf, type GatewayClient, jsonOf, outcome } from '../../harness/gateway-client.ts';
import type { TestConfig } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, plainAnswer, streamAnswer } from '../../provider/acts.ts';

/** The configured form of a call: URL, headers, members of the body, extra fields. */
const KEY = 'key-sentinel-51f0a2';
const HEADER = 'header-sentinel-77b1c9';
const CODE = 'query-sentinel-0d4e88';
const folder = mkdtempSync(join(tmpdir(), 'gw-shaping-'));
const keyFile = join(folder, 'key');
writeFileSync(keyFile, `${KEY}\n`);

function configFor(base_url: string, seed: 'drop' | 'keep'): TestConfig {
  const capable = { capabilities: ['tools'], reasoning_efforts: ['none', 'low'] };
  return {
    providers: {
      shaped: {
        base_url,
        api_key: `\${file:${keyFile}}`,
        auth: { header: 'Api-Key' },
        query: { 'api-version': 'preview 1', code: '${SHAPING_CODE}' },
        headers: { 'X-Team': 'gateway', 'x-token': 'Token ${SHAPING_HEADER}' },
        stream_options: false,
        extra_fields: ['top_k', 'chat_template_kwargs'],
        request: {
          ...(seed === 'drop' ? { drop: ['seed'] } : {}),
          rename: { user: 'end_user' },
          set: { store: false },
          set_with_tools: { reasoning_effort: 'none' },
          roles: { developer: 'system' },
        },
      },
      plain: { base_url },
      lacking: { base_url, headers: { 'x-token': '${SHAPING_MISSING}' } },
    },
    models: {
      a: {
        ...capable,
        targets: [
          { provider: 'shaped', model: 'a', request: { drop: ['verbosity'], rename: { end_user: 'customer' } } },
        ],
      },
      both: {
        targets: [
          { provider: 'plain', model: 'of-plain' },
          { provider: 'shaped', model: 'of-shaped' },
        ],
      },
      plain: { targets: [{ provider: 'plain', model: 'plain' }] },
      lacking: { targets: [{ provider: 'lacking', model: 'lacking' }] },
      next: {
        targets: [
          { provider: 'lacking', model: 'lacking' },
          { provider: 'plain', model: 'plain' },
        ],
      },
    },
    extra_request_fields: { top_k: 'integer', chat_template_kwargs: 'object' },
  };
}

const gateway = withGateway((provider) => ({
  config: configFor(provider.baseUrl, 'drop'),
  env: { SHAPING_CODE: CODE, SHAPING_HEADER: HEADER },
}));
let client: GatewayClient;

beforeAll(async () => {
  client = await gateway.openClient();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TOOLS = [{ type: 'function', function: { name: 'f' } }];

/** The call that the provider received for a request with these members. */
async function seen(members: Record<string, unknown>, model = 'a') {
  expect(outcome(await client.chat({ model, ...members }))).toBe('200');
  const call = gateway.provider.requests(model).at(-1);
  if (call === undefined) throw new Error('no call');
  return call;
}

test('a call has the configured URL, headers and body', async () => {
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ];
  const more = { seed: 7, user: 'me', verbosity: 'low', top_k: 40, chat_template_kwargs: { thinking: false } };
  const { path, headers, json } = await seen({ messages, tools: TOOLS, ...more });
  expect(path).toMatch(new RegExp(`/chat/completions\\?api-version=preview%201&code=${CODE}$`));
  expect(headers).toMatchObject({ 'api-key': KEY, 'x-team': 'gateway', 'x-token': `Token ${HEADER}` });
  expect(headers).not.toHaveProperty('authorization');
  expect(json).toEqual({
    model: 'a',
    max_tokens: 10_000,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
    tools: TOOLS,
    customer: expect.stringMatching(/^[0-9a-f]{64}$/),
    store: false,
    reasoning_effort: 'none',
    top_k: 40,
    chat_template_kwargs: { thinking: false },
  });
  expect((await seen({ tools: [] })).json).not.toHaveProperty('reasoning_effort');
});

test('stream_options can be omitted, and the missing usage is counted', async () => {
  gateway.provider.script('a', streamAnswer({ usage: null }), plainAnswer);
  const response = await client.chat({ model: 'a', stream: true, stream_options: { include_usage: true } });
  expect(gateway.provider.requests('a').at(-1)?.json).not.toHaveProperty('stream_options');
  const usage = eventsOf(response).at(-2) ?? '';
  expect(JSON.parse(usage).usage).toMatchObject({ prompt_tokens: expect.any(Number), cost: expect.any(Number) });
});

test('an extra field is sent to a target that accepts it, and refused if no target does', async () => {
  expect(outcome(await client.chat({ model: 'both', top_k: 1 }))).toBe('200');
  expect(gateway.provider.requests('of-shaped').at(-1)?.json).toMatchObject({ top_k: 1 });
  expect(gateway.provider.requests('of-plain')).toEqual([]);
  expect(outcome(await client.chat({ model: 'both' }))).toBe('200');
  expect(gateway.provider.requests('of-plain')).toHaveLength(1);
  const errorOf = async (members: object) =>
    jsonOf<{ error: object }>(await client.chat({ model: 'plain', ...members })).error;
  expect(await errorOf({ top_k: 1 })).toMatchObject({ code: 'invalid_request', param: 'top_k' });
  expect(await errorOf({ top_k: '1' })).toMatchObject({ code: 'invalid_request', param: 'top_k' });
  expect(await errorOf({ min_p: 1 })).toMatchObject({ code: 'unknown_parameter', param: 'min_p' });
  expect(await errorOf({ model: 'absent', top_k: 1 })).toMatchObject({ code: 'model_not_found' });
});

test('a provider whose header is missing is skipped, and others serve', async () => {
  expect(outcome(await client.chat({ model: 'lacking' }))).toContain('upstream_config_error');
  expect(outcome(await client.chat({ model: 'next' }))).toBe('200');
});

test('no secret of a call is in responses or logs', async () => {
  gateway.provider.script('a', errorAnswer(400, `bad ${KEY}, ${HEADER} and ?code=${CODE}`), plainAnswer);
  const refused = await client.chat({ model: 'a' });
  expect(outcome(refused)).toContain('invalid_request');
  expect(refused.text).toContain('bad [redacted], [redacted] and ?code=[redacted]');
  for (const secret of [KEY, HEADER, CODE]) expect(gateway.stack.logs()).not.toContain(secret);
});

test('a rotated secret and a changed form of calls apply to the next requests', async () => {
  writeFileSync(`${keyFile}.new`, 'rotated-sentinel-93aa');
  renameSync(`${keyFile}.new`, keyFile);
  await expect.poll(async () => (await seen({})).headers['api-key'], { timeout: 30_000 }).toBe('rotated-sentinel-93aa');
  expect((await seen({ seed: 7 })).json).not.toHaveProperty('seed');
  gateway.stack.writeConfig(configFor(gateway.provider.baseUrl, 'keep'));
  await expect.poll(async () => (await seen({ seed: 7 })).json?.seed, { timeout: 30_000 }).toBe(7);
});
