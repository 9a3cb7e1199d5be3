import { beforeAll, expect, test } from 'vitest';
import type { KeyChange } from '#database/keys/key-records.ts';
import {
  errorOf,
  type GatewayClient,
  gatewayClient,
  jsonOf,
  outcome,
  settledGeneration,
} from '../../harness/gateway-client.ts';
import { BY, type CustomerOptions } from '../../harness/operator.ts';
import { withGateway } from '../../harness/with-gateway.ts';

let client: GatewayClient;
let stranger: GatewayClient;

const gateway = withGateway({
  config: {
    models: {
      full: {
        capabilities: ['tools', 'vision', 'json_mode'],
        reasoning_efforts: ['low', 'high'],
        context_window: 200_000,
        max_output_tokens: 32_000,
        usd_per_million_tokens: { input: 0.25, cached_input: 0.025, output: 2 },
      },
      small: {},
      off: { disabled: true },
    },
    limits: { read_rpm: 200 },
  },
});

beforeAll(async () => {
  client = await gateway.openClient();
  stranger = await gateway.openClient({ key: { models: ['small'] } });
});

test('models: lists enabled models with capabilities and prices, in the order of the file', async () => {
  const body = jsonOf<{ object: string; data: Array<Record<string, unknown>> }>(await client.get('/v1/models'));
  expect(body.object).toBe('list');
  expect(body.data.map(({ id }) => id)).toEqual(['full', 'small']);
  expect(body.data[0]).toEqual({
    id: 'full',
    object: 'model',
    created: expect.any(Number),
    owned_by: expect.any(String),
    capabilities: ['tools', 'vision', 'json_mode'],
    context_window: 200_000,
    context_length: 200_000,
    max_model_len: 200_000,
    max_output_tokens: 32_000,
    max_completion_tokens: 32_000,
    reasoning_efforts: ['low', 'high'],
    architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
    supported_parameters: expect.arrayContaining(['max_tokens', 'tools', 'response_format', 'reasoning_effort']),
    pricing: {
      ...{ input: 0.25, cached_input: 0.025, cache_write: 0.25, cache_write_1h: 0.25, output: 2 },
      ...{ above: [], service_tiers: {}, changes: [], hours: [] },
      ...{ prompt: '0.00000025', completion: '0.000002' },
      ...{ input_cache_read: '0.000000025', input_cache_write: '0.00000025' },
    },
  });
  const parameters = body.data.map((model) => model.supported_parameters as string[]);
  for (const name of ['tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort'])
    expect([name, parameters[1]?.includes(name)]).toEqual([name, false]);
  for (const name of ['audio', 'functions', 'prompt_cache_options', 'model']) expect(parameters[0]).not.toContain(name);
  for (const names of parameters)
    expect(names).toEqual(expect.arrayContaining(['temperature', 'user', 'service_tier']));
});

test('models: lists only those that the key may use', async () => {
  const body = jsonOf<{ data: Array<{ id: string }> }>(await stranger.get('/v1/models'));
  expect(body.data.map(({ id }) => id)).toEqual(['small']);
});

test('models: shows one of those that the key may use', async () => {
  const list = jsonOf<{ data: unknown[] }>(await stranger.get('/v1/models'));
  const one = await stranger.get('/v1/models/small');
  expect([one.status, jsonOf(one)]).toEqual([200, list.data[0]]);
  for (const id of ['full', 'off', 'lab/small', 'lab%2Fsmall', '__proto__', 'small/']) {
    const refused = await stranger.get(`/v1/models/${id}`);
    expect(outcome(refused)).toBe('404 model_not_found');
    expect(refused.text).toContain(`There is no model ${decodeURIComponent(id)}. `);
  }
  expect(outcome(await stranger.get('/v1/models/small?limit=1'))).toBe('400 unknown_parameter');
});

test('a disabled model is not found', async () => {
  expect(outcome(await client.chat({ model: 'off' }))).toBe('404 model_not_found');
});

test('generation: shows usage and cost of a request, only to its own organization', async () => {
  const id = String((await client.chat({ model: 'small' })).headers['x-generation-id']);
  expect(await settledGeneration(client, id)).toEqual({
    id,
    model: 'small',
    provider_name: 'fake',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    streamed: false,
    cancelled: false,
    finish_reason: 'stop',
    service_tier: null,
    tokens_prompt: 10,
    tokens_completion: 5,
    tokens_cached: 0,
    tokens_cache_write: 0,
    tokens_reasoning: 0,
    total_cost: 0.000015,
    latency: expect.any(Number),
    generation_time: expect.any(Number),
    api_key_id: expect.stringMatching(/^key-/),
    upstream_id: 'chatcmpl-provider-1',
  });
  expect(outcome(await stranger.get(`/v1/generation?id=${id}`))).toBe('404 generation_not_found');
});

test.each([
  ['/v1/generation', '400 invalid_request', 'id'],
  ['/v1/generation?id=', '400 invalid_request', 'id'],
  ['/v1/generation?id=nonsense', '404 generation_not_found', 'id'],
  ['/v1/generation?id=gen-00000000000000000000000000', '404 generation_not_found', 'id'],
  ['/v1/generation?id=a&verbose=1', '400 unknown_parameter', 'verbose'],
  ['/v1/models?limit=3', '400 unknown_parameter', 'limit'],
  ['/v1/credits?x=', '400 unknown_parameter', 'x'],
])('%s is %s', async (path, expected, param) => {
  const received = await client.get(path);
  expect(outcome(received)).toBe(expected);
  expect(errorOf(received).param).toBe(param);
});

test('usage: groups requests by day and model', async () => {
  const before = jsonOf<{ total: { requests: number } }>(await client.get('/v1/usage')).total.requests;
  await client.chat({ model: 'full' });
  const body = jsonOf<{ data: Array<Record<string, unknown>>; total: { requests: number } }>(
    await client.get('/v1/usage?group_by=day,model'),
  );
  expect(body.total.requests).toBe(before + 1);
  expect(body.data).toContainEqual({
    date: new Date().toISOString().slice(0, 10),
    model: 'full',
    requests: 1,
    tokens_prompt: 10,
    tokens_completion: 5,
    tokens_cached: 0,
    tokens_cache_write: 0,
    tokens_reasoning: 0,
    cost: 0.0000125,
  });
});

test('usage: groups requests by user, with null for requests without one', async () => {
  const client = await gateway.openClient();
  await client.chat({ model: 'full', user: 'ada' });
  await client.chat({ model: 'full', user: 'ada' }, { headers: { 'idempotency-key': 'by-user' } });
  await client.chat({ model: 'full', user: '' });
  await client.chat({ model: 'full' });
  const body = jsonOf<{ data: Array<Record<string, unknown>>; total: { requests: number; cost: number } }>(
    await client.get('/v1/usage?group_by=user'),
  );
  expect(body.data.map(({ user, requests, cost }) => [user, requests, cost])).toEqual([
    ['', 1, 0.0000125],
    ['ada', 2, 0.000025],
    [null, 1, 0.0000125],
  ]);
  expect(body.total).toMatchObject({ requests: 4, cost: 0.00005 });
  const byDay = jsonOf<{ data: object[] }>(await client.get('/v1/usage?group_by=day,user,key,model'));
  expect(Object.keys(byDay.data[0] ?? {}).slice(0, 4)).toEqual(['date', 'model', 'api_key_id', 'user']);
});

test('usage: refuses more than 3,659 days, and the refusal names that limit', async () => {
  const spanning = (days: number) => {
    const start = new Date(Date.UTC(2026, 10, 21) - days * 86_400_000).toISOString().slice(0, 10);
    return client.get(`/v1/usage?start_date=${start}&end_date=2026-11-21`);
  };
  const refused = await spanning(3660);
  expect(outcome(refused)).toBe('400 invalid_request');
  expect(errorOf(refused)).toMatchObject({
    param: 'start_date',
    message: 'start_date must be at most 3659 days before end_date.',
  });
  expect(outcome(await spanning(3659))).toBe('200');
});

test.each([
  'end_date=0001-01-15',
  'start_date=0000-01-01&end_date=0000-12-31',
  'start_date=9999-12-31&end_date=9999-12-31',
])('usage: a day on which no request is possible has none: %s', async (query) => {
  const received = await client.get(`/v1/usage?${query}`);
  expect(received.status).toBe(200);
  expect(jsonOf(received)).toMatchObject({ data: [], total: { requests: 0, cost: 0 } });
});

async function newClient(
  options?: CustomerOptions,
): Promise<GatewayClient & { organizationId: string; keyId: string }> {
  const customer = await gateway.stack.operator.customer(options);
  return { ...gatewayClient(gateway.stack.origin, customer.key), ...customer };
}

test('a key in the query string or a cookie is not a key', async () => {
  const { key } = await gateway.stack.operator.customer();
  const nobody = gatewayClient(gateway.stack.origin, '');
  expect(outcome(await nobody.get(`/v1/models?api_key=${key}`))).toBe('401 invalid_api_key');
  expect(outcome(await nobody.send({ path: '/v1/models', headers: { cookie: `api_key=${key}` } }))).toBe(
    '401 invalid_api_key',
  );
});

test('a revoked key fails from the next request on', async () => {
  const client = await newClient();
  expect(outcome(await client.chat({ model: 'small' }))).toBe('200');
  await gateway.stack.operator.administration.revokeKey(client.keyId, BY);
  expect(outcome(await client.chat({ model: 'small' }))).toBe('401 key_revoked');
});

test('an edited key has its new rights from the next request on', async () => {
  const { administration } = gateway.stack.operator;
  const client = await newClient({ key: { models: ['full'] } });
  expect(outcome(await client.chat({ model: 'small' }))).toBe('403 model_not_allowed');
  const edit = (change: KeyChange) => administration.updateKey(client.organizationId, client.keyId, change, BY);
  await edit({ models: null });
  expect(outcome(await client.chat({ model: 'small' }))).toBe('200');
  await edit({ scopes: ['usage:read'] });
  expect(outcome(await client.chat({ model: 'small' }))).toBe('403 missing_scope');
});

test('a key works only from its addresses, and a forged X-Forwarded-For changes nothing', async () => {
  const allowed = await newClient({ key: { ipRanges: ['127.0.0.0/8'] } });
  expect(outcome(await allowed.get('/v1/models'))).toBe('200');
  const elsewhere = await newClient({ key: { ipRanges: ['192.0.2.0/24'] } });
  expect(outcome(await elsewhere.get('/v1/models'))).toBe('401 ip_not_allowed');
  const forged = await elsewhere.send({ path: '/v1/models', headers: { 'x-forwarded-for': '192.0.2.1' } });
  expect(outcome(forged)).toBe('401 ip_not_allowed');
});

test('a suspended organization is refused at once and served again after resume', async () => {
  const client = await newClient();
  await gateway.stack.operator.administration.setSuspended(client.organizationId, true, BY);
  expect(outcome(await client.chat({ model: 'small' }))).toBe('403 org_suspended');
  await gateway.stack.operator.administration.setSuspended(client.organizationId, false, BY);
  expect(outcome(await client.chat({ model: 'small' }))).toBe('200');
});

test('credit that was just booked is spendable at once', async () => {
  const client = await newClient({ credit: '0' });
  const refused = await client.chat({ model: 'small' });
  expect(outcome(refused)).toBe('402 insufficient_credits');
  expect(errorOf(refused).metadata).toMatchObject({ available_usd: 0, estimated_usd: expect.any(Number) });
  await gateway.stack.operator.credit(client.organizationId, '1');
  expect(outcome(await client.chat({ model: 'small' }))).toBe('200');
});
