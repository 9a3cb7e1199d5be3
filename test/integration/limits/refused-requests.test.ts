import { describe, expect, test } from 'vitest';
import { errorOf, type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import type { Received } from '../../harness/http-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { BY, type Customer, type CustomerOptions } from '../../harness/operator.ts';
import { exchangeRaw } from '../../harness/transport-fixture.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { untilMinuteIsYoung } from '../../harness/young-window.ts';
import { openWaitingUploads } from '../../load/waiting-uploads.ts';
import { errorAnswer } from '../../provider/acts.ts';

/** `limits.refused_rpm` through a real Envoy. */
const LIMIT = 6;

const gateway = withGateway({
  config: {
    limits: { refused_rpm: LIMIT, request_body: '10KiB' },
    models: { plain: {}, picky: {} },
    retries: { per_target: 0 },
  },
});

const BEYOND = '429 rpm_exceeded';

async function customerWith(options: CustomerOptions = {}): Promise<Customer & { readonly client: GatewayClient }> {
  const customer = await gateway.stack.operator.customer(options);
  return { ...customer, client: gatewayClient(gateway.stack.origin, customer.key) };
}

async function times(count: number, send: () => Promise<Received>): Promise<string[]> {
  const outcomes: string[] = [];
  for (let i = 0; i < count; i++) outcomes.push(outcome(await send()));
  return outcomes;
}

describe.concurrent('requests that are refused before a provider is called', () => {
  interface Case {
    readonly is: string;
    readonly customer?: CustomerOptions;
    readonly send: (client: GatewayClient) => Promise<Received>;
  }
  const COUNTED: readonly Case[] = [
    { is: '400 invalid_json', send: (client) => client.send({ path: '/v1/chat/completions', body: '{' }) },
    { is: '400 unknown_parameter', send: (client) => client.get('/v1/models?a=b') },
    { is: '402 insufficient_credits', customer: { credit: '0' }, send: (client) => client.chat({ model: 'plain' }) },
    {
      is: '403 model_not_allowed',
      customer: { key: { models: ['other'] } },
      send: (client) => client.chat({ model: 'plain' }),
    },
    { is: '404 model_not_found', send: (client) => client.chat({ model: 'unheard' }) },
    { is: '404 generation_not_found', send: (client) => client.get('/v1/generation?id=unheard') },
    {
      is: '413 request_too_large',
      send: (client) => client.send({ path: '/v1/chat/completions', body: 'x'.repeat(11_000) }),
    },
  ];

  test.each(COUNTED)(
    '$is: counts for its organization, which gets only 429 above the limit',
    async ({ is, customer, send }) => {
      const { client, organizationId } = await customerWith(customer);
      const other = gatewayClient(gateway.stack.origin, (await gateway.stack.operator.addKey(organizationId)).key);
      await untilMinuteIsYoung();
      expect(await times(LIMIT, () => send(client))).toEqual(Array.from({ length: LIMIT }, () => is));
      const beyond = await send(client);
      expect(errorOf(beyond)).toMatchObject({ code: 'rpm_exceeded', type: 'rate_limit_error' });
      expect(Number(beyond.headers['retry-after'])).toBeGreaterThan(0);
      expect(Number(beyond.headers['retry-after'])).toBeLessThanOrEqual(60);
      // Every endpoint refuses every key of the organization.
      expect(outcome(await other.chat({ model: 'plain' }))).toBe(BEYOND);
      for (const path of ['/v1/models', '/v1/credits', '/v1/usage', '/v1/generation?id=x'])
        expect(outcome(await other.get(path))).toBe(BEYOND);
      const neighbour = await customerWith();
      expect(outcome(await neighbour.client.chat({ model: 'plain' }))).toBe('200');
      for (const each of [client, other, neighbour.client]) each.close();
    },
  );

  test('408 of uploads that stall counts, and says that the body did not arrive', async ({ expect }) => {
    const { client, key } = await customerWith();
    const neighbour = await customerWith();
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${neighbour.key}\r\ncontent-length: 9`;
    const told = exchangeRaw(gateway.stack.apiPort, `${head}\r\n\r\n{`);
    // The uploads stall for ten seconds before they are refused.
    await untilMinuteIsYoung(30_000);
    const flood = await openWaitingUploads({ port: gateway.stack.apiPort, key, uploads: LIMIT + 1, perSecond: 1_000 });
    await expect.poll(() => flood.answers, { timeout: 30_000 }).toEqual({ request_timeout: LIMIT, rpm_exceeded: 1 });
    expect(await told).toContain('"The request body did not arrive in time."');
    neighbour.client.close();
    expect(outcome(await client.chat({ model: 'plain' }))).toBe(BEYOND);
    flood.close();
    client.close();
  });

  test('422 idempotency_key_reused counts', async () => {
    const { client } = await customerWith();
    const headers = { 'idempotency-key': 'one' };
    await untilMinuteIsYoung();
    expect(outcome(await client.chat({ model: 'plain' }, { headers }))).toBe('200');
    const reuse = () => client.chat({ model: 'plain', seed: 1 }, { headers });
    expect(await times(LIMIT + 1, reuse)).toEqual([
      ...Array.from({ length: LIMIT }, () => '422 idempotency_key_reused'),
      BEYOND,
    ]);
    client.close();
  });

  test('a request above the limit is refused without waiting for its body', async () => {
    const { client } = await customerWith();
    await untilMinuteIsYoung();
    await times(LIMIT, () => client.get('/v1/models?a=b'));
    const received = await client.send({ path: '/v1/chat/completions', body: 'x'.repeat(200_000) });
    expect(outcome(received)).toBe(BEYOND);
    client.close();
  });

  test('429, refusals of a provider, served requests and unknown routes do not count', async () => {
    const { client } = await customerWith({ organization: { requestsPerMinute: LIMIT + 2 } });
    await untilMinuteIsYoung();
    for (let i = 0; i < LIMIT; i++) gateway.provider.script('picky', errorAnswer(400, 'no'));
    expect(await times(LIMIT, () => client.chat({ model: 'picky' }))).not.toContain(BEYOND);
    expect(await times(2, () => client.chat({ model: 'plain' }))).toEqual(['200', '200']);
    expect(await times(LIMIT + 1, () => client.chat({ model: 'plain' }))).toEqual(
      Array.from({ length: LIMIT + 1 }, () => BEYOND),
    );
    expect(await times(LIMIT + 1, () => client.get('/v1/nothing'))).not.toContain(BEYOND);
    expect(outcome(await client.get('/v1/models'))).toBe('200');
    client.close();
  });

  test('refusals by checks before the limit are unchanged, and count', async () => {
    const { client, organizationId } = await customerWith();
    const scoped = gatewayClient(
      gateway.stack.origin,
      (await gateway.stack.operator.addKey(organizationId, { scopes: ['chat'] })).key,
    );
    const elsewhere = gatewayClient(
      gateway.stack.origin,
      (await gateway.stack.operator.addKey(organizationId, { key: { ipRanges: ['192.0.2.0/24'] } })).key,
    );
    await untilMinuteIsYoung();
    const half = LIMIT / 2;
    expect(await times(half, () => scoped.get('/v1/credits'))).not.toContain(BEYOND);
    expect(await times(half, () => elsewhere.get('/v1/credits'))).not.toContain(BEYOND);
    expect(outcome(await client.get('/v1/credits'))).toBe(BEYOND);
    expect(outcome(await scoped.get('/v1/credits'))).toBe('403 missing_scope');
    expect(outcome(await elsewhere.get('/v1/credits'))).toBe('401 ip_not_allowed');
    for (const each of [client, scoped, elsewhere]) each.close();
  });

  test.each([
    ['revoked', '401 key_revoked'],
    ['expired', '401 key_expired'],
  ])('a key that is %s has its own count', async (what, code) => {
    const { client, organizationId } = await customerWith();
    const expiry = what === 'expired' ? { key: { expiresAtMs: Date.now() } } : {};
    const bad = await gateway.stack.operator.addKey(organizationId, expiry);
    if (what === 'revoked') await gateway.stack.operator.administration.revokeKey(bad.keyId, BY);
    const found = gatewayClient(gateway.stack.origin, bad.key);
    await untilMinuteIsYoung();
    expect(await times(LIMIT + 1, () => found.get('/v1/models'))).toEqual([
      ...Array.from({ length: LIMIT }, () => code),
      BEYOND,
    ]);
    expect(outcome(await found.chat({ model: 'plain' }))).toBe(BEYOND);
    expect(outcome(await client.chat({ model: 'plain' }))).toBe('200');
    // The limit of its organization does not apply to it either.
    const second = await gateway.stack.operator.addKey(organizationId, expiry);
    if (what === 'revoked') await gateway.stack.operator.administration.revokeKey(second.keyId, BY);
    await times(LIMIT, () => client.get('/v1/models?a=b'));
    const again = gatewayClient(gateway.stack.origin, second.key);
    expect(outcome(await again.get('/v1/models'))).toBe(code);
    for (const each of [client, found, again]) each.close();
  });
});

test('requests above the limit are counted in the metric of refused admissions', async () => {
  const rule = { rule: 'refused' };
  await expect
    .poll(() => metric(gateway.stack.metricsOrigin, 'gateway_admissions_refused_total', rule))
    .toBeGreaterThan(LIMIT);
});
