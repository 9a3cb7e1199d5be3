import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { eventsOf, type GatewayClient, gatewayClient, jsonOf, outcome } from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { opened } from '../../harness/opened.ts';
import type { TestConfig } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, streamAnswer } from '../../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';

const second = opened(startFakeProvider);
let client: GatewayClient;

const TIMEOUTS = { first_byte: '20s', stream_idle: '20s', total: '40s' };

function configWith(provider: FakeProvider, models: TestConfig['models']): TestConfig {
  return { providers: { fake: { base_url: provider.baseUrl } }, models, timeouts: TIMEOUTS };
}

const gateway = withGateway((provider) => ({ config: configWith(provider, { one: {} }) }));

beforeAll(async () => {
  client = await gateway.openClient();
});

async function modelIds(): Promise<string[]> {
  return jsonOf<{ data: Array<{ id: string }> }>(await client.get('/v1/models')).data.map(({ id }) => id);
}

async function untilModelsAre(ids: readonly string[]): Promise<void> {
  const deadline = performance.now() + 20_000;
  while ((await modelIds()).join() !== ids.join()) {
    if (performance.now() > deadline) throw new Error(`the models are still ${await modelIds()}`);
    await sleep(25);
  }
}

test('a reload serves new models at another provider and cuts no stream in flight', async () => {
  gateway.provider.script(
    'one',
    streamAnswer({ pieces: Array.from({ length: 30 }, (_, index) => ` ${index}`), paceMs: 60 }),
  );
  const began = Promise.withResolvers<void>();
  const inFlight = client.chat({ model: 'one', stream: true }, { onPiece: () => began.resolve() });
  await began.promise;
  gateway.stack.writeConfig(configWith(second, { one: {}, two: {} }));
  await untilModelsAre(['one', 'two']);
  for (const model of ['one', 'two']) expect(outcome(await client.chat({ model }))).toBe('200');
  expect([second.requests('one').length, second.requests('two').length]).toEqual([1, 1]);
  const events = eventsOf(await inFlight);
  expect(events.at(-1)).toBe('[DONE]');
  expect(events.filter((event) => event.includes('"content":" ')).length).toBe(30);
});

test('a resting target is skipped, also after a reload, and weighted targets share requests by weight', async () => {
  const target = (model: string) => ({ provider: 'fake', model });
  const ordered = { targets: [target('busy'), target('free')] };
  gateway.stack.writeConfig(configWith(gateway.provider, { ordered }));
  await untilModelsAre(['ordered']);
  gateway.provider.script('busy', errorAnswer(429, 'slow down', { 'retry-after': '60' }));
  const asked = () => ['busy', 'free'].map((model) => gateway.provider.requests(model).length);
  for (let times = 0; times < 3; times++) expect(outcome(await client.chat({ model: 'ordered' }))).toBe('200');
  expect(asked()).toEqual([1, 3]);
  const weighted = {
    targets: [...ordered.targets, ...['left', 'right'].map((name) => ({ ...target(name), weight: 500 }))],
  };
  gateway.stack.writeConfig(configWith(gateway.provider, { ordered, weighted }));
  await untilModelsAre(['ordered', 'weighted']);
  expect(outcome(await client.chat({ model: 'ordered' }))).toBe('200');
  expect(asked()).toEqual([1, 4]);
  const resting = () => metric(gateway.stack.metricsOrigin, 'gateway_resting_targets', { provider: 'fake' });
  await expect.poll(resting).toBe(1);
  gateway.provider.script('free', errorAnswer(401, 'no'));
  await Promise.all(Array.from({ length: 30 }, () => client.chat({ model: 'weighted' })));
  const [left, right] = ['left', 'right'].map((model) => gateway.provider.requests(model).length);
  expect([left, right]).not.toContain(0);
  expect((left ?? 0) + (right ?? 0)).toBe(30);
  // The resting target is called when all others fail.
  gateway.provider.script('busy', errorAnswer(400, 'at last'));
  expect(outcome(await client.chat({ model: 'ordered' }))).toBe('400 invalid_request');
  expect(asked()).toEqual([2, 35]);
});

test('an invalid file changes nothing, and the log says where it is wrong', async () => {
  gateway.stack.writeConfig(configWith(gateway.provider, { good: {} }));
  await untilModelsAre(['good']);
  gateway.stack.writeConfig(configWith(gateway.provider, { good: {}, bad: { context_window: -1 } }));
  await expect.poll(() => gateway.stack.logs()).toMatch(/gateway\.yaml:\d+:\d+/);
  expect(await modelIds()).toEqual(['good']);
  expect(outcome(await client.chat({ model: 'good' }))).toBe('200');
  gateway.stack.writeConfig(configWith(gateway.provider, { good: {}, fixed: {} }));
  await untilModelsAre(['good', 'fixed']);
});

test('a model without a configured provider does not affect the others', async () => {
  gateway.stack.writeConfig(
    configWith(gateway.provider, { good: {}, lost: { targets: [{ provider: 'nowhere', model: 'x' }] } }),
  );
  await untilModelsAre(['good', 'lost']);
  expect(outcome(await client.chat({ model: 'lost' }))).toBe('500 upstream_config_error');
  expect(outcome(await client.chat({ model: 'good' }))).toBe('200');
});

test('a file that is cut in the middle does no harm', async () => {
  const path = join(gateway.stack.paths.dataDir, 'gateway.yaml');
  const whole = readFileSync(path, 'utf8');
  writeFileSync(path, whole.slice(0, whole.length / 2));
  await sleep(500);
  expect(outcome(await client.chat({ model: 'good' }))).toBe('200');
  gateway.stack.writeConfig(configWith(gateway.provider, { good: {}, late: {} }));
  await untilModelsAre(['good', 'late']);
});

test('trusted proxies apply from the reload on, and the address that they name is the one that counts', async () => {
  const customer = await gateway.stack.operator.customer({ key: { ipRanges: ['192.0.2.7'] } });
  const behindProxy = gatewayClient(gateway.stack.origin, customer.key);
  const ask = async (forwarded: string): Promise<string> =>
    outcome(await behindProxy.send({ path: '/v1/models', headers: { 'x-forwarded-for': forwarded } }));
  expect(await ask('192.0.2.7')).toBe('401 ip_not_allowed');
  gateway.stack.writeConfig({
    ...configWith(gateway.provider, { good: {}, proxied: {} }),
    trusted_proxies: ['127.0.0.0/8'],
  });
  await untilModelsAre(['good', 'proxied']);
  expect(await ask('192.0.2.7')).toBe('200');
  expect(await ask('198.51.100.1, 192.0.2.7')).toBe('200');
  expect(await ask('192.0.2.7, 198.51.100.1')).toBe('401 ip_not_allowed');
});
