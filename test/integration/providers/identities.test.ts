import { expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/**
 * Customers share the operator's account at a provider, but no cache namespace and no identity.
 */
const FIELDS = ['user', 'safety_identifier', 'prompt_cache_key'] as const;
const VALUE = 'value-sentinel-3a9c';

const gateway = withGateway({
  config: { models: { a: {} } },
  databaseRole: 'gateway_process',
});

/** The body that the provider received for a request with these members. */
async function seen(client: GatewayClient, members: Record<string, unknown>): Promise<Record<string, unknown>> {
  expect(outcome(await client.chat({ model: 'a', ...members }))).toBe('200');
  return gateway.provider.requests('a').at(-1)?.json ?? {};
}

const all = (value: string) => Object.fromEntries(FIELDS.map((field) => [field, value]));

test('the same value of two organizations has different hashes, which are stable across restarts', async () => {
  const [acme, other] = [await gateway.stack.operator.customer(), await gateway.stack.operator.customer()];
  const [ofAcme, ofOther] = [
    gatewayClient(gateway.stack.origin, acme.key),
    gatewayClient(gateway.stack.origin, other.key),
  ];
  const first = await seen(ofAcme, all(VALUE));
  const second = await seen(ofOther, all(VALUE));
  const hashes = FIELDS.flatMap((field) => [first[field], second[field]]);
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(await seen(ofAcme, { ...all(VALUE), stream: true })).toMatchObject(
    Object.fromEntries(FIELDS.map((f) => [f, first[f]])),
  );
  expect((await seen(ofAcme, { user: `${VALUE}.` })).user).not.toBe(first.user);
  const sent = gateway.provider.requests('a').map(({ body, headers }) => `${body} ${JSON.stringify(headers)}`);
  for (const secret of [VALUE, acme.organizationId, other.organizationId]) expect(sent.join()).not.toContain(secret);
  await gateway.stack.restartGateway('SIGKILL');
  await expect.poll(async () => outcome(await ofAcme.get('/v1/models')), { timeout: 30_000 }).toBe('200');
  for (const field of FIELDS) expect((await seen(ofAcme, { [field]: VALUE }))[field]).toBe(first[field]);
});

test('an empty value is hashed; a field that is absent or null is not added', async () => {
  const { key } = await gateway.stack.operator.customer();
  const client = gatewayClient(gateway.stack.origin, key);
  const empty = await seen(client, all(''));
  for (const field of FIELDS) expect(empty[field]).toMatch(/^[0-9a-f]{64}$/);
  const absent = await seen(client, { user: null });
  for (const field of FIELDS) expect(absent).not.toHaveProperty(field);
});
