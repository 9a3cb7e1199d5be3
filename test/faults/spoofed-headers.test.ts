import { afterAll, describe, expect, test } from 'vitest';
import { gatewayClient, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import type { Protocol, Received } from '../harness/http-client.ts';
import { eventually, exchangeRaw } from '../harness/transport-fixture.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';

/** Clients claim another address, route or identity in every header that some proxy trusts. */
let other: FakeProvider;

const gateway = withGateway(async (provider) => {
  other = await startFakeProvider();
  return {
    config: {
      providers: { fake: { base_url: provider.baseUrl }, other: { base_url: other.baseUrl } },
      models: { plain: {}, elsewhere: { targets: [{ provider: 'other', model: 'any' }] } },
    },
  };
});

afterAll(async () => {
  await other?.close();
});

const ALLOWED = '203.0.113.7';
const SPOOFED_ID = '00000000-dead-4bad-8bad-000000000000';
const SPOOFED: Readonly<Record<string, string>> = {
  'x-gw-stream': 'AAAAAAAAAAAAAAAAAAAAAA',
  'x-gw-cluster': 'gateway',
  'x-gw-local': 'UF',
  'x-gw-anything': '1',
  x_gw_stream: 'AAAAAAAAAAAAAAAAAAAAAA',
  x_gw_cluster: 'gateway',
  'x-envoy-original-path': '/v1/models',
  'x-envoy-original-dst-host': '127.0.0.1:1',
  'x-envoy-external-address': ALLOWED,
  'x-envoy-internal': 'true',
  'x-envoy-attempt-count': '7',
  'x-envoy-upstream-rq-timeout-ms': '1',
  'x-envoy-upstream-alt-stat-name': 'spoofed',
  'x-envoy-max-retries': '9',
  'x-envoy-retry-on': '5xx',
  'x-envoy-force-trace': 'true',
  'x-envoy-decorator-operation': 'spoofed',
  'x-envoy-ip-tags': 'spoofed',
  'x-forwarded-for': ALLOWED,
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'admin',
  'x-forwarded-port': '1',
  'x-forwarded-client-cert': 'By=spoofed',
  'x-original-url': '/v1/models',
  'x-rewrite-url': '/v1/models',
  'x-http-method-override': 'GET',
  'x-real-ip': ALLOWED,
  'true-client-ip': ALLOWED,
  'cf-connecting-ip': ALLOWED,
  forwarded: `for=${ALLOWED};proto=https`,
  'x-request-id': SPOOFED_ID,
  'x-generation-id': 'gen-spoofed',
  'x-client-trace-id': 'spoofed',
  expect: '200-ok',
  via: '1.1 spoofed',
  cookie: 'session=spoofed',
  'api-key': 'spoofed',
  'x-api-key': 'spoofed',
  'openai-organization': 'spoofed',
};

const CHANGES_EVERY_TIME = ['content-length', 'date'];

describe.each<Protocol>(['http1', 'http2'])('%s', (protocol) => {
  test.each([false, true])(
    "the provider's request and the charge are the same as without them (stream: %s)",
    async (stream) => {
      const { key } = await gateway.stack.operator.customer();
      const client = gatewayClient(gateway.stack.origin, key, { protocol });
      const before = gateway.provider.requests('plain').length;
      const plain = await client.chat({ model: 'plain', stream });
      const spoofed = await client.chat({ model: 'plain', stream }, { headers: SPOOFED });
      await untilNothingHeld(client);

      expect([outcome(plain), outcome(spoofed)]).toEqual(['200', '200']);
      const [first, second] = gateway.provider.requests('plain').slice(before);
      expect(gateway.provider.requests('plain').length - before).toBe(2);
      expect(second?.headers).toEqual(first?.headers);
      expect(second?.body.toString()).toBe(first?.body.toString());
      expect(other.requests()).toEqual([]);

      expect(Object.keys(spoofed.headers).sort()).toEqual(Object.keys(plain.headers).sort());
      for (const [name, value] of Object.entries(spoofed.headers)) {
        if (!CHANGES_EVERY_TIME.includes(name))
          expect(`${name}: ${value}`).not.toMatch(/spoofed|dead-4bad|203\.0\.113/);
      }
      const costs = await costsOf(client, [plain, spoofed]);
      expect(costs[1]).toBe(costs[0]);
      client.close();
      const line = String(spoofed.headers['x-request-id']);
      await eventually(() => gateway.stack.logs().includes(line), 'the request is in the log');
      expect(gateway.stack.logs()).not.toMatch(/spoofed|dead-4bad|203\.0\.113/);
    },
  );

  test("none of them changes the address that a key's ranges are checked with", async () => {
    const shut = await gateway.stack.operator.customer({ key: { ipRanges: [`${ALLOWED}/32`] } });
    const open = await gateway.stack.operator.customer({ key: { ipRanges: ['127.0.0.1/32'] } });
    for (const [{ key }, expected] of [
      [shut, '401 ip_not_allowed'],
      [open, '200'],
    ] as const) {
      const client = gatewayClient(gateway.stack.origin, key, { protocol });
      expect(outcome(await client.send({ path: '/v1/credits', headers: SPOOFED }))).toBe(expected);
      client.close();
    }
  });
});

async function costsOf(
  client: { get(path: string): Promise<Received> },
  answers: readonly Received[],
): Promise<number[]> {
  const costs = answers.map(async ({ headers }) => {
    const { text } = await client.get(`/v1/generation?id=${headers['x-generation-id']}`);
    return JSON.parse(text).data.total_cost as number;
  });
  return Promise.all(costs);
}

test('only the API is at the public address: no name reaches an admin, metrics, egress or stream listener', async () => {
  const metrics = new URL(gateway.stack.metricsOrigin).host;
  const paths = [
    '/ready',
    '/live',
    '/metrics',
    '/stats',
    '/server_info',
    '/config_dump',
    '/clusters',
    '/',
    '/chat/completions',
  ];
  const targets = [
    ...paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: gateway`),
    ...paths.map((path) => `GET http://${metrics}${path} HTTP/1.1\r\nhost: ${metrics}`),
    ...['egress', 'gateway', 'gateway-stream-0', metrics, 'localhost'].map(
      (host) => `GET /ready HTTP/1.1\r\nhost: ${host}`,
    ),
    'POST /quitquitquit HTTP/1.1\r\nhost: gateway\r\ncontent-length: 0',
    'POST /healthcheck/fail HTTP/1.1\r\nhost: admin\r\ncontent-length: 0',
    `GET / HTTP/1.1\r\nhost: gateway\r\nx-gw-stream: AAAAAAAAAAAAAAAAAAAAAA\r\nx-gw-cluster: gateway-stream-0`,
    `CONNECT ${metrics} HTTP/1.1\r\nhost: ${metrics}`,
    `CONNECT unix:${gateway.stack.paths.envoyAdminSocket} HTTP/1.1\r\nhost: unix`,
    `OPTIONS * HTTP/1.1\r\nhost: gateway`,
    `TRACE / HTTP/1.1\r\nhost: gateway`,
  ];
  const answers = await Promise.all(
    targets.map((target) => exchangeRaw(gateway.stack.apiPort, `${target}\r\nconnection: close\r\n\r\n`)),
  );
  for (const [index, answer] of answers.entries()) {
    expect(`${targets[index]} → ${answer}`).toMatch(
      / → HTTP\/1\.1 4(04|00) [\s\S]*"code":"(route_not_found|invalid_request)"/,
    );
  }
  expect(other.requests()).toEqual([]);
  expect(gateway.stack.envoy.hasEnded()).toBe(false);
});
