// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { metric, readMetrics } from '../../harness/metrics-page.ts';
import type { TestConfig } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { type AwsIdentity, expectedAuthorization } from '../../provider/aws-signature.ts';
import { startTokenServer, type TokenServer, token, tokenText } from '../../provider/token-server.ts';

/** Requests through the whole gateway to providers that Envoy authorizes. */

/** Every visible ASCII character, and a space. */
const SECRET = String.fromCharCode(...Array.from({ length: 95 }, (_, at) => 0x20 + ((at + 60) % 95)));
const AWS: AwsIdentity = {
  ...{ region: 'eu-central-1', service: 'bedrock', accessKeyId: 'AKIDENVIRONMENT' },
  ...{ secretAccessKey: 'environmentsentinel', sessionToken: 'environment-token-sentinel' },
};
const NAMES = ['fine', 'short', 'refused', 'broken', 'odd', 'large', 'silent', 'away', 'rotated'];

let tokens: TokenServer;
let client: GatewayClient;

const gateway = withGateway(async (provider) => {
  tokens = await startTokenServer();
  // Longer than Envoy can count, and in the form in which JSON writes it: 1e+21.
  tokens.script('fine', token('fine', { expires_in: 1e21 }));
  tokens.script('short', token('short', { expires_in: 3 }));
  tokens.script('refused', tokenText('{"error":"invalid_client","secret":"client-sentinel"}', 401));
  tokens.script('broken', tokenText('out of order, client-sentinel', 503));
  tokens.script('silent', () => undefined);
  tokens.script('large', token('large', { padding: 'x'.repeat(300_000) }));
  tokens.script('odd', tokenText('<html>client-sentinel{"access_token":"cut-off'));
  return { config: configFor(provider.baseUrl), env: { ROTATED: 'client-sentinel-1', SECRET } };
});

function configFor(baseUrl: string, rotated = '${ROTATED}'): TestConfig {
  const secrets: Readonly<Record<string, string>> = { fine: '${SECRET}', rotated };
  const oauth2 = (name: string) => {
    const client_secret = secrets[name] ?? 'client-sentinel';
    // No server listens on port 1.
    const token_url = name === 'away' ? 'http://127.0.0.1:1/' : tokens.url(name);
    const client = { token_url, client_id: `id of ${name}`, client_secret };
    return { base_url: baseUrl, auth: { oauth2: { ...client, scopes: ['a/.default', 'b:c'] } } };
  };
  const { region, service, accessKeyId, secretAccessKey, sessionToken } = AWS;
  const aws = { region, service, access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  const target = (name: string) => ({ provider: name, model: `at-${name}` });
  return {
    providers: {
      plain: { base_url: baseUrl },
      ...Object.fromEntries(NAMES.map((name) => [name, oauth2(name)])),
      signed: { base_url: baseUrl, auth: { aws: { ...aws, session_token: sessionToken } } },
    },
    models: {
      ...Object.fromEntries([...NAMES, 'signed'].map((name) => [name, { targets: [target(name)] }])),
      rescued: { targets: [target('refused'), target('broken'), target('plain')] },
    },
  };
}

beforeAll(async () => {
  client = await gateway.openClient();
});
afterAll(() => tokens?.close());

/** The authorization of the newest request to the provider's model. */
function authorizationAt(name: string): string | undefined {
  return gateway.provider.requests(`at-${name}`).at(-1)?.headers.authorization;
}

test('the first requests have a token, JSON and streams, and the token endpoint received a form', async () => {
  const [json, stream] = await Promise.all([
    client.chat({ model: 'fine' }),
    client.chat({ model: 'fine', stream: true }),
  ]);
  expect([outcome(json), stream.status]).toEqual(['200', 200]);
  expect(stream.text).toContain('[DONE]');
  expect(gateway.provider.requests('at-fine').map(({ headers }) => headers.authorization)).toEqual([
    'Bearer fine-1',
    'Bearer fine-1',
  ]);
  const [asked] = tokens.requests('fine');
  expect(Object.fromEntries(asked?.form ?? [])).toEqual({
    ...{ grant_type: 'client_credentials', client_id: 'id of fine', client_secret: SECRET },
    scope: 'a/.default b:c',
  });
  const names = Object.keys(asked?.headers ?? {}).filter((name) => /^x-|forwarded/.test(name));
  expect(names).toEqual([]);
});

test('a token is renewed before it expires, and none is as long as it is valid', async () => {
  await expect.poll(() => tokens.requests('short').length).toBeGreaterThan(2);
  expect(tokens.requests('fine')).toHaveLength(1);
  expect(outcome(await client.chat({ model: 'short' }))).toBe('200');
  expect(authorizationAt('short')).toMatch(/^Bearer short-([2-9]|\d\d)/);
});

test('without a token no request is sent, the next target is called, and nothing is charged', async () => {
  const customer = await gateway.stack.operator.customer({ credit: '1' });
  const client = gatewayClient(gateway.stack.origin, customer.key);
  expect(outcome(await client.chat({ model: 'refused' }))).toBe('500 upstream_config_error');
  expect(outcome(await client.chat({ model: 'refused', stream: true }))).toBe('500 upstream_config_error');
  const withoutToken = ['broken', 'odd', 'large', 'silent', 'away'];
  const outcomes = await Promise.all(withoutToken.map(async (model) => outcome(await client.chat({ model }))));
  expect(outcomes).toEqual(withoutToken.map(() => '503 no_capacity'));
  expect(await gateway.stack.operator.balance(customer.organizationId)).toBe(1);
  expect(outcome(await client.chat({ model: 'rescued' }))).toBe('200');
  for (const name of ['refused', ...withoutToken]) expect(gateway.provider.requests(`at-${name}`)).toEqual([]);
  client.close();
  const { metricsOrigin } = gateway.stack;
  const labels = { provider: 'refused', kind: 'credentials' };
  await expect.poll(() => metric(metricsOrigin, 'gateway_provider_account_errors_total', labels)).toBe(3);
  const { samples } = await readMetrics(metricsOrigin);
  const failed = samples.filter(({ name }) => name === 'envoy_cluster_oauth2_token_fetch_failed_on_bad_response_code');
  expect(failed.map(({ labels: { envoy_cluster_name = '' } }) => envoy_cluster_name)).toContainEqual(
    expect.stringMatching(/^refused-[0-9a-f]{12}$/),
  );
});

test('a token endpoint that recovers is used within seconds, whatever it responded before', async () => {
  const written = { refused: '\\/+=~._-', broken: '\\u002f+\\u003D~._-', odd: '!|:;<>{}' };
  for (const [name, text] of Object.entries(written)) {
    // RFC 6749 allows a response without a lifetime, every visible character, and JSON on several
    // lines.
    tokens.script(name, tokenText(`{\n "token_type": "Bearer",\n "access_token": "${name}${text}"\n}`));
    const answer = async () => outcome(await client.chat({ model: name }));
    await expect.poll(answer, { interval: 200 }).toBe('200');
    expect(authorizationAt(name)).toBe(`Bearer ${name}${name === 'odd' ? text : '/+=~._-'}`);
  }
});

test('tokens without a lifetime are requested at most once a second', async () => {
  tokens.script('short', token('short', { expires_in: 0 }));
  const beganMs = performance.now();
  const before = tokens.requests('short').length;
  const asked = () => tokens.requests('short').length - before;
  await expect.poll(asked).toBeGreaterThan(5);
  // One request a second, and some earlier ones that this process saw late if it stalled.
  expect(asked()).toBeLessThanOrEqual((performance.now() - beganMs) / 1000 + 4);
});

test('a changed secret is used after a reload, and no request fails meanwhile', async () => {
  expect(outcome(await client.chat({ model: 'rotated' }))).toBe('200');
  const path = join(gateway.stack.paths.dataDir, 'rotated');
  writeFileSync(`${path}.new`, 'client-sentinel-2\n');
  renameSync(`${path}.new`, path);
  gateway.stack.writeConfig(configFor(gateway.provider.baseUrl, '${file:rotated}'));
  const secrets = () => tokens.requests('rotated').map(({ form }) => form.get('client_secret'));
  const outcomes = new Set<string>();
  await expect
    .poll(
      async () => {
        outcomes.add(outcome(await client.chat({ model: 'rotated' })));
        return authorizationAt('rotated');
      },
      { interval: 20 },
    )
    .toBe('Bearer rotated-2');
  expect([...outcomes]).toEqual(['200']);
  expect(secrets()).toEqual(['client-sentinel-1', 'client-sentinel-2']);
  writeFileSync(`${path}.new`, 'client-sentinel-3\n');
  renameSync(`${path}.new`, path);
  await expect.poll(() => secrets().at(-1)).toBe('client-sentinel-3');
});

test('a request to AWS is signed, also for a stream', async () => {
  for (const stream of [false, true]) {
    expect((await client.chat({ model: 'signed', stream })).status).toBe(200);
    const seen = gateway.provider.requests('at-signed').at(-1);
    if (seen === undefined) throw new Error('the provider saw no request');
    expect(seen.headers.authorization).toBe(await expectedAuthorization(seen, AWS));
  }
});

test('no process has logged a credential or a token', () => {
  const written = gateway.stack.logs();
  expect(written).not.toMatch(/sentinel|Bearer|fine-1|short-\d/);
  expect(written).not.toContain(SECRET);
});
