import { expect, test } from 'vitest';
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
  expect(outcome(await client.chat({ model: 'one' }))).toBe('403 org_suspended');
  await gateway.stack.operator.administration.setSuspended(client.organizationId, false, BY);
  expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
});

test('credit that was just booked is spendable at once', async () => {
  const client = await newClient({ credit: '0' });
  const refused = await client.chat({ model: 'one' });
  expect(outcome(refused)).toBe('402 insufficient_credits');
  expect(errorOf(refused).metadata).toMatchObject({ available_usd: 0, estimated_usd: expect.any(Number) });
  await gateway.stack.operator.credit(client.organizationId, '1');
  expect(outcome(await client.chat({ model: 'one' }))).toBe('200');
});
