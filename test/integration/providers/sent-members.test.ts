import { expect, test } from 'vitest';
import { SCENARIOS as MESSAGES } from '#ext-proc/dialects/anthropic/scenarios.fixture.ts';
import { SCENARIOS as RESPONSES } from '#ext-proc/dialects/responses/scenarios.fixture.ts';
import { errorOf, type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, rawAnswer } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';

/**
 * Customers share the operator's account at a provider, but no cache namespace and no identity.
 */
const FIELDS = ['user', 'safety_identifier', 'prompt_cache_key'] as const;
const VALUE = 'value-sentinel-3a9c';

/** Writes to a provider's prompt cache cost more than input, so they need a price. */
const APIS = ['chat', 'responses', 'anthropic'] as const;
type Api = (typeof APIS)[number];

const PRICES = {
  free: { input: 2, output: 10 },
  short: { input: 2, cache_write: 2.5, output: 10 },
  long: { input: 2, cache_write: 2.5, cache_write_1h: 4, output: 10 },
} as const;

const gateway = withGateway({
  config: {
    models: {
      a: {},
      ...Object.fromEntries(
        Object.entries(PRICES).flatMap(([name, prices]) =>
          APIS.map((api) => [
            `${name}-${api}`,
            {
              usd_per_million_tokens: prices,
              targets: [{ provider: 'fake', model: `${name}-${api}`, api }],
            },
          ]),
        ),
      ),
    },
  },
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

const ANSWERS: Readonly<Record<Api, () => Act>> = {
  chat: () => jsonAnswer(),
  responses: () => rawAnswer(200, { 'content-type': 'application/json' }, JSON.stringify(RESPONSES.TEXT)),
  anthropic: () => rawAnswer(200, { 'content-type': 'application/json' }, JSON.stringify(MESSAGES.TEXT)),
};

const control = (ttl: string) => ({ cache_control: { type: 'ephemeral', ttl } });
const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit' } };
const withPart = (mark: object) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] }],
});

/** The cache markers in the body for each API. */
const SENT: Readonly<Record<Api, object>> = {
  chat: withPart({ ...control('1h'), ...BREAKPOINT }),
  responses: { input: [{ content: [BREAKPOINT] }] },
  anthropic: { messages: [{ content: [control('1h')] }] },
};

test.each(APIS)('%s: cache writes for an hour are refused without their price, and sent with it', async (api) => {
  const client = await gateway.openClient();
  for (const name of Object.keys(PRICES)) {
    const model = `${name}-${api}`;
    const asked = gateway.provider.requests(model).length;
    if (name === 'long') gateway.provider.script(model, ANSWERS[api]());
    const answer = await client.chat({ model, ...withPart({ ...control('1h'), ...BREAKPOINT }) });
    const requests = gateway.provider.requests(model).slice(asked);
    if (name === 'long') {
      expect(outcome(answer)).toBe('200');
      expect(requests).toHaveLength(1);
      expect(requests[0]?.json).toMatchObject(SENT[api]);
    } else {
      expect([outcome(answer), errorOf(answer).param]).toEqual([
        '400 invalid_request',
        'messages[0].content[0].cache_control',
      ]);
      expect(requests).toEqual([]);
    }
  }
});
