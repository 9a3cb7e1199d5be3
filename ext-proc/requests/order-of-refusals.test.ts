import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Capability, Model } from '#core/config/gateway-config.ts';
import type { ErrorCode } from '#core/errors/error-codes.ts';
import { isRefusal } from '#core/errors/refusal.ts';
import { clientAddress } from '#core/net/client-address.ts';
import type { Key, Organization } from '#core/principal.ts';
import type { KeyStore } from '#database/keys/key-store.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { authenticate, checkKey } from '../access/authenticate.ts';
import { authorizeCaller } from '../access/authorize.ts';
import { findRoute } from '../access/route.ts';
import { checkModel } from '../chat/check-model.ts';

/** A request and its surroundings, good but for what defects change. */
interface Situation {
  method: string;
  path: string;
  authorization: string;
  peer: string;
  contentEncoding: string | undefined;
  key: { -readonly [Name in keyof Key]?: Key[Name] };
  organization: { -readonly [Name in keyof Organization]?: Organization[Name] };
  model: { -readonly [Name in keyof Model]?: Model[Name] };
  body: Record<string, unknown>;
  messages: unknown[];
  capabilities: Set<Capability>;
  /** Applied to the bytes last. */
  damage: (text: string) => string;
}

type Defect = readonly [code: ErrorCode, name: string, make: (situation: Situation) => unknown];

const KEY = 'sk-gw-correct';
const TOOL = { type: 'function', function: { name: 'f' } };
const JSON_FORMAT = { type: 'json_object' };
const INLINE = 'data:image/png;base64,QUJD';
const FILE = {
  role: 'user',
  content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,QUJD' } }],
};
const part = (url: string) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] });

/** Leaves alone what an earlier defect has set already. */
const unlessSet = (body: Record<string, unknown>, fields: object) => Object.assign(body, { ...fields, ...body });

/**
 * docs/interface.md, "Order of checks", as far as it is pure. Several defects of one place are one
 * list.
 */
const ORDER: readonly (readonly Defect[])[] = [
  [
    ['route_not_found', 'method', (s) => Object.assign(s, { method: 'GET' })],
    ['route_not_found', 'doubled prefix', (s) => Object.assign(s, { path: '/v1/v1/chat/completions' })],
  ],
  [
    ['invalid_api_key', 'scheme', (s) => Object.assign(s, { authorization: `Basic ${KEY}` })],
    ['invalid_api_key', 'unknown key', (s) => Object.assign(s, { authorization: 'Bearer sk-gw-wrong' })],
  ],
  [['key_revoked', 'revoked', (s) => Object.assign(s.key, { revokedAtMs: 1 })]],
  [['key_expired', 'expired', (s) => Object.assign(s.key, { expiresAtMs: 1 })]],
  [['ip_not_allowed', 'address', (s) => Object.assign(s, { peer: '192.0.2.1' })]],
  [['org_suspended', 'suspended', (s) => Object.assign(s.organization, { suspended: true })]],
  [['missing_scope', 'scope', (s) => Object.assign(s.key, { scopes: new Set(['usage:read']) })]],
  [['invalid_request', 'compressed', (s) => Object.assign(s, { contentEncoding: 'gzip' })]],
  [
    ['invalid_json', 'cut', (s) => Object.assign(s, { damage: (text: string) => text.slice(0, -1) })],
    ['invalid_json', 'array', (s) => Object.assign(s, { damage: (text: string) => `[${text}]` })],
    ['invalid_json', 'byte order mark', (s) => Object.assign(s, { damage: (text: string) => `\ufeff${text}` })],
  ],
  [
    ['unknown_parameter', 'unknown', (s) => Object.assign(s.body, { top_k: 5 })],
    ['unknown_parameter', 'unknown null', (s) => Object.assign(s.body, { reasoning: null })],
  ],
  [
    ['missing_model', 'no model', (s) => Object.assign(s.body, { model: undefined })],
    ['missing_model', 'model of another type', (s) => Object.assign(s.body, { model: 7 })],
  ],
  [
    ['missing_messages', 'messages null', (s) => Object.assign(s.body, { messages: null })],
    ['missing_messages', 'messages empty', (s) => Object.assign(s.body, { messages: [] })],
  ],
  [
    ['invalid_request', 'temperature', (s) => Object.assign(s.body, { temperature: 3 })],
    ['invalid_request', 'stream', (s) => Object.assign(s.body, { stream: 'yes' })],
    ['invalid_request', 'audio part', (s) => s.messages.push({ role: 'user', content: [{ type: 'input_audio' }] })],
    ['invalid_request', 'no function', (s) => Object.assign(s.body, { tools: [{ type: 'web_search' }] })],
    ['invalid_request', 'not offered', (s) => Object.assign(s.body, { functions: [] })],
    ['invalid_request', 'stored', (s) => Object.assign(s.body, { store: true })],
    ['invalid_request', 'both limits', (s) => Object.assign(s.body, { max_tokens: 1, max_completion_tokens: 1 })],
  ],
  [['n_not_allowed', 'n', (s) => Object.assign(s.body, { n: 2 })]],
  [['json_mode_no_stream', 'JSON stream', (s) => unlessSet(s.body, { stream: true, response_format: JSON_FORMAT })]],
  [['image_url_not_supported', 'remote image', (s) => s.messages.push(part(' HTTPS://a.test/b.png'))]],
  [
    [
      'model_not_found',
      'unknown model',
      (s) => s.body.model === 'model-1' && Object.assign(s.body, { model: 'other' }),
    ],
    ['model_not_found', 'disabled', (s) => Object.assign(s.model, { disabled: true })],
  ],
  [['model_not_allowed', 'allowed models', (s) => Object.assign(s.key, { models: new Set(['another']) })]],
  [['tools_not_supported', 'tools', (s) => s.capabilities.delete('tools') && unlessSet(s.body, { tools: [TOOL] })]],
  [['vision_not_available', 'image', (s) => s.capabilities.delete('vision') && s.messages.push(part(INLINE))]],
  [
    [
      'json_mode_not_supported',
      'JSON',
      (s) => s.capabilities.delete('json_mode') && unlessSet(s.body, { response_format: JSON_FORMAT }),
    ],
  ],
  [['reasoning_effort_not_supported', 'effort', (s) => Object.assign(s.body, { reasoning_effort: 'extreme' })]],
  [
    ['invalid_request', 'file', (s) => s.capabilities.delete('files') && s.messages.push(FILE)],
    ['invalid_request', 'tier', (s) => Object.assign(s.body, { service_tier: 'flex' })],
    ['invalid_request', 'cache', (s) => Object.assign(s.body, { prompt_cache_retention: '24h' })],
  ],
  [
    ['max_tokens_exceeds_cap', 'model cap', (s) => unlessSet(s.body, { max_tokens: 8001 })],
    [
      'max_tokens_exceeds_cap',
      'organization cap',
      (s) => unlessSet(s.body, { max_tokens: 5000 }) && Object.assign(s.organization, { maxTokens: 4000 }),
    ],
  ],
  [['context_length_exceeded', 'window', (s) => Object.assign(s.model, { contextWindow: 3 })]],
  [['upstream_config_error', 'no targets', (s) => Object.assign(s.model, { problem: 'secret missing' })]],
];

function situationWith(defects: readonly Defect[]): Situation {
  const situation: Situation = {
    method: 'POST',
    path: '/v1/chat/completions',
    authorization: `Bearer ${KEY}`,
    peer: '10.0.0.1',
    contentEncoding: undefined,
    key: { ipRanges: ['10.0.0.0/8'] },
    organization: { allowMultipleCompletions: false },
    model: {},
    body: { model: 'model-1', messages: [] },
    messages: [{ role: 'user', content: 'Hello' }],
    capabilities: new Set(['tools', 'vision', 'json_mode', 'files']),
    damage: (text) => text,
  };
  situation.body.messages = situation.messages;
  for (const [, , make] of defects) make(situation);
  return situation;
}

/** The steps as the gateway calls them. */
async function answerTo(situation: Situation) {
  const route = findRoute(situation.method, situation.path, new Set());
  if (isRefusal(route)) return route;
  const principal = principalWith(situation.key, situation.organization);
  const known = createHash('sha256').update(KEY).digest();
  const keys: KeyStore = { findByHash: async (hash) => (hash.equals(known) ? principal : undefined) };
  const caller = await authenticate(situation.authorization, keys, 20_000);
  if (isRefusal(caller)) return caller;
  const address = clientAddress(situation.peer, undefined, []);
  const denied = checkKey(caller.key, 1_800_000_000_000) ?? authorizeCaller(caller, address, route);
  if (denied) return denied;
  const text = situation.damage(JSON.stringify(situation.body));
  const chat = readChatRequest(Buffer.from(text), situation.contentEncoding);
  if (isRefusal(chat)) return chat;
  const model = modelWith({ ...situation.model, capabilities: situation.capabilities });
  return checkModel(chat, caller, configWith(model));
}

const ranked = ORDER.flatMap((place, rank) => place.map((defect) => ({ rank, defect })));

/** In the documented order, so that an earlier defect can keep a field that two of them need. */
async function expectFirst(inOrder: readonly (typeof ranked)[number][]): Promise<void> {
  const answer = await answerTo(situationWith(inOrder.map(({ defect }) => defect)));
  const [code] = inOrder[0]?.defect ?? [];
  expect(isRefusal(answer) ? answer.code : 'ok', inOrder.map(({ defect }) => defect[1]).join(', ')).toBe(code);
}

describe('the order of refusals', () => {
  it('refuses nothing without a defect', async () => {
    expect(isRefusal(await answerTo(situationWith([])))).toBe(false);
  });

  it.each(ranked.map(({ rank, defect }) => [`${defect[0]}: ${defect[1]}`, rank, defect] as const))(
    '%s',
    async (_, rank, defect) => {
      await expectFirst([{ rank, defect }]);
    },
  );

  it('gives the first code of the documented order for any two defects', async () => {
    for (const [at, one] of ranked.entries()) {
      for (const other of ranked.slice(at + 1)) if (other.rank > one.rank) await expectFirst([one, other]);
    }
  });
});
