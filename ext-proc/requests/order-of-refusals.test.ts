import { describe, expect, it } from 'vitest';
import type { Capability, Model } from '#core/config/gateway-config.ts';
import type { ErrorCode } from '#core/errors/error-codes.ts';
import type { Key, Organization } from '#core/principal.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { client } from '../delivery/client.fixture.ts';
import { gatewayInMemory, KEY } from './gateway-in-memory.fixture.ts';

/** A request and its surroundings, good but for what defects change. */
interface Situation {
  method: string;
  path: string;
  peerAddress: string;
  headers: Record<string, string>;
  key: Partial<Key>;
  limits: Key['limits'];
  organization: Partial<Organization>;
  model: Partial<Model>;
  body: Record<string, unknown>;
  messages: unknown[];
  isTooLarge: boolean;
  capabilities: Set<Capability>;
  /** Applied to the bytes last. */
  damage: (text: string) => string;
}

type Make = (situation: Situation) => unknown;
type Defect = readonly [code: ErrorCode, name: string, make: Make];

const TOOL = { type: 'function', function: { name: 'f' } };
const JSON_FORMAT = { response_format: { type: 'json_object' } };
const INLINE = 'data:image/png;base64,QUJD';
const FILE = {
  role: 'user',
  content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,QUJD' } }],
};
const part = (url: string) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] });

/** A defect in one part of the situation. */
const set =
  (part: 'headers' | 'key' | 'limits' | 'organization' | 'model' | 'body', members: object) => (s: Situation) =>
    Object.assign(s[part], members);

/** A request for what the model cannot do. */
const without = (capability: Capability, make: Make) => (s: Situation) => s.capabilities.delete(capability) && make(s);

/**
 * docs/interface.md, "Order of checks", as far as one request without an idempotency key can fail.
 * Several defects of one place are one list.
 */
const ORDER: readonly (readonly Defect[])[] = [
  [
    ['route_not_found', 'method', (s) => Object.assign(s, { method: 'GET' })],
    ['route_not_found', 'doubled prefix', (s) => Object.assign(s, { path: '/v1/v1/chat/completions' })],
  ],
  [
    ['invalid_api_key', 'scheme', set('headers', { authorization: `Basic ${KEY}` })],
    ['invalid_api_key', 'unknown key', set('headers', { authorization: 'Bearer sk-gw-wrong' })],
  ],
  [['key_revoked', 'revoked', set('key', { revokedAtMs: 1 })]],
  [['key_expired', 'expired', set('key', { expiresAtMs: 1 })]],
  [['ip_not_allowed', 'address', (s) => Object.assign(s, { peerAddress: '192.0.2.1' })]],
  [['org_suspended', 'suspended', set('organization', { suspended: true })]],
  [['missing_scope', 'scope', set('key', { scopes: new Set(['usage:read']) })]],
  [['request_too_large', 'size', (s) => Object.assign(s, { isTooLarge: true })]],
  [['invalid_request', 'compressed', set('headers', { 'content-encoding': 'gzip' })]],
  [
    ['invalid_json', 'cut', (s) => Object.assign(s, { damage: (text: string) => text.slice(0, -1) })],
    ['invalid_json', 'array', (s) => Object.assign(s, { damage: (text: string) => `[${text}]` })],
    ['invalid_json', 'byte order mark', (s) => Object.assign(s, { damage: (text: string) => `\ufeff${text}` })],
  ],
  [
    ['unknown_parameter', 'unknown', set('body', { top_k: 5 })],
    ['unknown_parameter', 'unknown null', set('body', { reasoning: null })],
  ],
  [
    ['missing_model', 'no model', set('body', { model: undefined })],
    ['missing_model', 'model of another type', set('body', { model: 7 })],
  ],
  [
    ['missing_messages', 'messages null', set('body', { messages: null })],
    ['missing_messages', 'messages empty', set('body', { messages: [] })],
  ],
  [
    ['invalid_request', 'temperature', set('body', { temperature: 3 })],
    ['invalid_request', 'stream', set('body', { stream: 'yes' })],
    ['invalid_request', 'audio part', (s) => s.messages.push({ role: 'user', content: [{ type: 'input_audio' }] })],
    ['invalid_request', 'no function', set('body', { tools: [{ type: 'web_search' }] })],
    ['invalid_request', 'not offered', set('body', { functions: [] })],
    ['invalid_request', 'stored', set('body', { store: true })],
    ['invalid_request', 'both limits', set('body', { max_tokens: 1, max_completion_tokens: 1 })],
  ],
  [['n_not_allowed', 'n', set('body', { n: 2 })]],
  [['json_mode_no_stream', 'JSON stream', set('body', { stream: true, ...JSON_FORMAT })]],
  [['image_url_not_supported', 'remote image', (s) => s.messages.push(part(' HTTPS://a.test/b.png'))]],
  [
    ['model_not_found', 'unknown model', set('body', { model: 'other' })],
    ['model_not_found', 'disabled', set('model', { disabled: true })],
  ],
  [['model_not_allowed', 'allowed models', set('key', { models: new Set(['another']) })]],
  [['tools_not_supported', 'tools', without('tools', set('body', { tools: [TOOL] }))]],
  [['vision_not_available', 'image', without('vision', (s) => s.messages.push(part(INLINE)))]],
  [['json_mode_not_supported', 'JSON', without('json_mode', set('body', JSON_FORMAT))]],
  [['reasoning_effort_not_supported', 'effort', set('body', { reasoning_effort: 'extreme' })]],
  [
    ['invalid_request', 'file', without('files', (s) => s.messages.push(FILE))],
    ['invalid_request', 'tier', set('body', { service_tier: 'flex' })],
    ['invalid_request', 'cache', set('body', { prompt_cache_retention: '24h' })],
  ],
  [
    ['max_tokens_exceeds_cap', 'model cap', set('body', { max_tokens: 8001 })],
    [
      'max_tokens_exceeds_cap',
      'organization cap',
      (s) => Object.assign(s.body, { max_tokens: 5000 }) && Object.assign(s.organization, { maxTokens: 4000 }),
    ],
  ],
  [['context_length_exceeded', 'window', set('model', { contextWindow: 3 })]],
  [['upstream_config_error', 'no targets', set('model', { problem: 'secret missing' })]],
  [['rpm_exceeded', 'concurrency', set('organization', { concurrency: 0 })]],
  [['rpm_exceeded', 'requests', set('limits', { requestsPerMinute: 0 })]],
  [['daily_budget_exceeded', 'daily budget', set('limits', { dailyBudgetNanoUsd: 0n })]],
  [['insufficient_credits', 'lifetime budget', set('limits', { lifetimeBudgetNanoUsd: 0n })]],
];

/** An earlier defect is made later, so that it overwrites what both change. */
function situationWith(defects: readonly { readonly make: Make }[]): Situation {
  const situation: Situation = {
    method: 'POST',
    path: '/v1/chat/completions',
    peerAddress: '10.0.0.1',
    headers: { authorization: `Bearer ${KEY}` },
    key: { ipRanges: ['10.0.0.0/8'] },
    limits: {},
    organization: { allowMultipleCompletions: false },
    model: {},
    body: { model: 'model-1', messages: [] },
    messages: [{ role: 'user', content: 'Hello' }],
    isTooLarge: false,
    capabilities: new Set(['tools', 'vision', 'json_mode', 'files']),
    damage: (text) => text,
  };
  situation.body.messages = situation.messages;
  for (const { make } of defects.toReversed()) make(situation);
  return situation;
}

/** The code of the gateway's refusal, or `delivered`. */
async function answerTo(situation: Situation): Promise<string> {
  const { method, path, peerAddress, headers, key, limits, organization, isTooLarge } = situation;
  const model = modelWith({ ...situation.model, capabilities: situation.capabilities });
  const bytes = Buffer.from(situation.damage(JSON.stringify(situation.body)));
  const answers: string[] = [];
  const gateway = gatewayInMemory({
    clock: { nowMs: () => 1_800_000_000_000, monotonicMs: () => 0 },
    config: () => configWith(model),
    caller: () => ({ key: { ...key, limits }, organization }),
    async deliver() {
      answers.push('delivered');
      return { status: 200, attempts: [], clientGone: false };
    },
  });
  await gateway.handle({
    ...{ ...client().exchange, method, path, peerAddress },
    header: (name) => headers[name],
    readBody: async () => (isTooLarge ? { kind: 'too_large' } : { kind: 'complete', bytes }),
    respond: async ({ body }) => void answers.push(JSON.parse(body.toString()).error.code),
  });
  await gateway.close();
  return answers.join();
}

const ranked = ORDER.flatMap((place, rank) => place.map(([code, name, make]) => ({ rank, code, name, make })));

/** In the documented order. */
async function expectFirst(...inOrder: typeof ranked): Promise<void> {
  const names = inOrder.map(({ name }) => name).join(', ');
  expect(await answerTo(situationWith(inOrder)), names).toBe(inOrder[0]?.code);
}

describe('the order of refusals', () => {
  it('refuses nothing without a defect', async () => {
    expect(await answerTo(situationWith([]))).toBe('delivered');
  });

  it.each(ranked)('$code: $name', (defect) => expectFirst(defect));

  it('gives the first code of the documented order for any two defects', async () => {
    for (const [at, one] of ranked.entries()) {
      for (const other of ranked.slice(at + 1)) if (other.rank > one.rank) await expectFirst(one, other);
    }
  });
});
