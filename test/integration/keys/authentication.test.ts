import { expect, test } from 'vitest';
import { newKeySecret } from '#core/key-secret.ts';
import type { KeyChange } from '#database/keys/key-records.ts';
import { errorOf, type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { BY, type CustomerOptions } from '../../harness/operator.ts';
import { withGateway } from '../../harness/with-gateway.ts';

const gateway = withGateway({
  config: { models: { one: {}, two: {} } },
});

async function newClient(
  options?: CustomerOptions,
): Promise<GatewayClient & { organizationId: string; keyId: string }> {
  const customer = await gateway.stack.operator.customer(options);
  return { ...gatewayClient(gateway.stack.origin, customer.key), ...customer };
}

test('every form of a missing or wrong key is 401 invalid_api_key', async () => {
  const client = await newClient();
  const wrong = `sk-gw-${'x'.repeat(43)}`;
  const forms = [
    '',
    'Bearer',
    `Bearer ${wrong}`,
    `Basic ${wrong}`,
    wrong,
    'Bearer sk-other-123',
    `Bearer ${wrong} more`,
  ];
  for (const authorization of forms) {
    const received = await client.chat({ model: 'one' }, { headers: { authorization } });
    expect([authorization, outcome(received)]).toEqual([authorization, '401 invalid_api_key']);
    expect(errorOf(received).type).toBe('authentication_error');
  }
  expect(gateway.provider.requests()).toEqual([]);
});

test('a key in the query string or a cookie is not a key', async () => {
  const { key } = await gateway.stack.operator.customer();
  const nobody = gatewayClient(gateway.stack.origin, '');
  expect(outcome(await nobody.get(`/v1/models?api_key=${key}`))).toBe('401 invalid_api_key');
  expect(outcome(await nobody.send({ path: '/v1/models', headers: { cookie: `api_key=${key}` } }))).toBe(
    '401 invalid_api_key',
  );
});

test('a good key works, whatever the case of its scheme', async () => {
  const { key } = await gateway.stack.operator.customer();
  const client = gatewayClient(gateway.stack.origin, key);
  for (const authorization of [`Bearer ${key}`, `bearer  ${key}`, `BEARER ${key}`]) {
    expect(outcome(await client.chat({ model: 'one' }, { headers: { authorization } }))).toBe('200');
  }
});

test('a revoked key fails from the next request on', async () => {
  const client = await newClient();
  expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
  await gateway.stack.operator.administration.revokeKey(client.keyId, BY);
  expect(outcome(await client.chat({ model: 'one' }))).toBe('401 key_revoked');
});

test('an edited key has its new rights from the next request on', async () => {
  const { administration } = gateway.stack.operator;
  const client = await newClient({ key: { models: ['two'] } });
  expect(outcome(await client.chat({ model: 'one' }))).toBe('403 model_not_allowed');
  const edit = (change: KeyChange) => administration.updateKey(client.organizationId, client.keyId, change, BY);
  await edit({ models: null });
  expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
  await edit({ scopes: ['usage:read'] });
  expect(outcome(await client.chat({ model: 'one' }))).toBe('403 missing_scope');
});

/** The machine may stand still for a moment before what is tried until then. */
const SOON_MS = 5_000;

test('a replaced key works beside the new one until its time comes', async () => {
  const client = await newClient();
  const { secret, identity } = newKeySecret(Date.now());
  const oldRevokedAtMs = Date.now() + SOON_MS;
  const replacement = { ...identity, oldRevokedAtMs };
  await gateway.stack.operator.administration.replaceKey(client.organizationId, client.keyId, replacement, BY);
  const next = gatewayClient(gateway.stack.origin, secret);
  expect(outcome(await client.get('/v1/models'))).toBe('200');
  expect(outcome(await next.get('/v1/models'))).toBe('200');
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, oldRevokedAtMs - Date.now() + 20)));
  expect(outcome(await client.get('/v1/models'))).toBe('401 key_revoked');
  expect(outcome(await next.get('/v1/models'))).toBe('200');
});

test('an expired key fails', async () => {
  const expires = new Date(Date.now() + SOON_MS).toISOString();
  const client = await newClient({ key: { expiresAtMs: Date.parse(expires) } });
  expect(outcome(await client.get('/v1/models'))).toBe('200');
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, Date.parse(expires) - Date.now() + 20)));
  expect(outcome(await client.get('/v1/models'))).toBe('401 key_expired');
});

test('a key works from its addresses only, and a forged X-Forwarded-For changes nothing', async () => {
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
  expect(outcome(await client.chat({ model: 'one' }))).toBe('403 org_suspended');
  await gateway.stack.operator.administration.setSuspended(client.organizationId, false, BY);
  expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
});

test('a key outside its scopes is told which scope is missing', async () => {
  const reader = await newClient({ scopes: ['usage:read'] });
  const refused = await reader.chat({ model: 'one' });
  expect(outcome(refused)).toBe('403 missing_scope');
  expect(errorOf(refused).message).toContain('chat');
  const chatter = await newClient({ scopes: ['chat'] });
  expect(outcome(await chatter.get('/v1/credits'))).toBe('403 missing_scope');
  expect(outcome(await chatter.get('/v1/models'))).toBe('200');
});

test('a key calls its own models only', async () => {
  const client = await newClient({ key: { models: ['two'] } });
  expect(outcome(await client.chat({ model: 'two' }))).toBe('200');
  expect(outcome(await client.chat({ model: 'one' }))).toBe('403 model_not_allowed');
});

test('credit that was just booked is spendable at once', async () => {
  const client = await newClient({ credit: '0' });
  const refused = await client.chat({ model: 'one' });
  expect(outcome(refused)).toBe('402 insufficient_credits');
  expect(errorOf(refused).metadata).toMatchObject({ available_usd: 0, estimated_usd: expect.any(Number) });
  await gateway.stack.operator.credit(client.organizationId, '1');
  expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
});

test.each(['/chat/completions', '/v1/v1/chat/completions', '/v1/models/', '/V1/models', '/'])(
  '%s is 404 route_not_found',
  async (path) => {
    const client = gatewayClient(gateway.stack.origin, 'nobody');
    expect(outcome(await client.get(path))).toBe('404 route_not_found');
  },
);

test('the right path with another method is 404 route_not_found', async () => {
  const client = gatewayClient(gateway.stack.origin, 'nobody');
  expect(outcome(await client.get('/v1/chat/completions'))).toBe('404 route_not_found');
  expect(outcome(await client.send({ method: 'DELETE', path: '/v1/models' }))).toBe('404 route_not_found');
});
