import { beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { EXPRESSIONS, MANUAL, metricsIn } from '../../fixtures/observability-files.ts';
import { type GatewayClient, outcome } from '../../harness/gateway-client.ts';
import { type MetricsPage, metric, readMetrics } from '../../harness/metrics-page.ts';
import type { TestConfig } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

/** The time of two process reports, and more for a busy machine. */
const SOON = { interval: 200 };
/**
 * Envoy never ejects providers on the loopback, and has no metric of it for them. This distant
 * provider gets no requests.
 */
const FAR = {
  providers: { far: { base_url: 'https://192.0.2.1/v1' } },
  models: { far: { targets: [{ provider: 'far', model: 'far' }] } },
};

let config: TestConfig;
let client: GatewayClient;
const gateway = withGateway((provider) => {
  config = { providers: { fake: { base_url: provider.baseUrl } }, models: { plain: {}, streamed: {}, broken: {} } };
  return {
    config: { providers: { ...config.providers, ...FAR.providers }, models: { ...config.models, ...FAR.models } },
  };
});

beforeAll(async () => {
  client = await gateway.openClient();
  const poor = await gateway.openClient({ credit: '0' });
  gateway.provider.script('plain', jsonAnswer());
  gateway.provider.script('streamed', streamAnswer());
  gateway.provider.script('broken', errorAnswer(500, 'oops'));
  const answers = [
    await client.chat({ model: 'plain' }),
    await client.chat({ model: 'plain' }, { headers: { 'idempotency-key': 'one' } }),
    await client.chat({ model: 'streamed', stream: true }),
    await client.chat({ model: 'broken' }),
    await client.get('/v1/credits'),
    await poor.chat({ model: 'plain' }),
  ];
  poor.close();
  const refused = ['503 upstream_error', '200', '402 insufficient_credits'];
  expect(answers.map(outcome)).toEqual(['200', '200', '200', ...refused]);
});

const read = (name: string, labels: Readonly<Record<string, string>> = {}) =>
  metric(gateway.stack.metricsOrigin, name, labels);

test('dashboard, alerts and rules use only metrics that exist, with labels that they have', async () => {
  const page = await readMetrics(gateway.stack.metricsOrigin);
  const missing: string[] = [];
  let asked = 0;
  for (const { at, expr } of EXPRESSIONS) {
    for (const { name, labels } of metricsIn(expr)) {
      asked++;
      const family = familyOf(page, name);
      if (family === undefined) missing.push(`${at}: ${name}`);
      const known = new Set(
        page.samples.filter((sample) => sample.name === name).flatMap(({ labels: of }) => Object.keys(of)),
      );
      // Labels that Prometheus adds.
      for (const label of ['job', 'instance']) known.add(label);
      if (known.size > 2)
        missing.push(...labels.filter((label) => !known.has(label)).map((label) => `${at}: ${name}{${label}}`));
    }
  }
  expect(asked).toBeGreaterThan(100);
  expect(missing).toEqual([]);
});

/** The family of a metric's name in a query, where a histogram appears as its parts. */
function familyOf({ types }: MetricsPage, name: string): string | undefined {
  const family = name.replace(/_(?:bucket|sum|count)$/, '');
  return types.has(name) ? name : types.get(family) === 'histogram' ? family : undefined;
}

test('the manual names every metric of the gateway, and no other', async () => {
  const { types } = await readMetrics(gateway.stack.metricsOrigin);
  const named = new Set([...MANUAL.matchAll(/`(gateway_[a-z0-9_]+)/g)].map(([, name = '']) => name));
  expect([...named].filter((name) => !types.has(name))).toEqual([]);
  expect([...types.keys()].filter((name) => name.startsWith('gateway_') && !named.has(name))).toEqual([]);
});

test('metrics count the requests, their provider calls, store calls and streams', async () => {
  // Readiness probes, of which there were several by now, are not counted. Metrics are updated
  // after the responses.
  await expect.poll(() => read('gateway_requests_total'), SOON).toBe(6);
  expect(await read('gateway_upstream_duration_seconds_count', { provider: 'fake' })).toBe(5);
  expect(await read('gateway_upstream_time_to_first_event_seconds_count', { provider: 'fake' })).toBe(3);
  expect(await read('gateway_time_to_first_event_seconds_count')).toBe(1);
  // The store needs a second call for an organization that it does not know yet. A request that
  // the balance cannot pay is tried once more with a shorter default output.
  expect(await read('gateway_limit_store_duration_seconds_count', { operation: 'admit' })).toBe(5 + 2 + 1);
  expect(await read('gateway_database_batch_items_sum', { batch: 'settlement' })).toBe(2);
  expect(await read('gateway_database_batch_items_sum', { batch: 'claimed_settlement' })).toBe(1);
  expect(await read('gateway_admissions_refused_total', { rule: 'balance' })).toBe(1);
  expect(await read('gateway_build_info')).toBe(1);
  expect(await read('gateway_ready')).toBe(1);
  expect(await read('envoy_http_ext_proc_streams_failed')).toBe(0);
  expect(await read('envoy_access_log_process_ratelimit_denied')).toBe(0);
  expect(await read('envoy_cluster_membership_healthy', { envoy_cluster_name: 'gateway' })).toBe(1);
  expect(await read('gateway_requests_total', { code: 'invalid_api_key' })).toBeNaN();
});

test('metrics count requests in flight, their streams and holds until they end', async () => {
  const gate = createGate();
  gateway.provider.script('streamed', gate.before(streamAnswer()));
  const answer = client.chat({ model: 'streamed', stream: true });
  await expect.poll(() => read('gateway_streams_in_flight'), SOON).toBe(1);
  expect(await read('gateway_requests_in_flight')).toBe(1);
  await expect.poll(() => read('gateway_holds'), SOON).toBe(1);
  expect(await read('gateway_held_usd')).toBeGreaterThan(0);
  gate.open();
  expect(outcome(await answer)).toBe('200');
  await expect.poll(() => read('gateway_holds'), SOON).toBe(0);
  await expect.poll(() => read('gateway_streams_in_flight'), SOON).toBe(0);
  expect(await read('gateway_held_usd')).toBe(0);
});

test('the doctor finds no problem while everything works, and names the cause when something fails', async () => {
  // Removes the distant provider, which doctor would report as unreachable.
  gateway.stack.writeConfig(config);
  await expect.poll(() => read('gateway_configuration_reads_total', { result: 'applied' }), SOON).toBe(1);
  const examine = async () => {
    const result = await runCommandLine(['doctor'], gateway.stack.env);
    return result.kind === 'done' ? result.text : result.message;
  };
  await expect.poll(examine, SOON).toMatch(/\nno problems, no warnings\.$/);
  gateway.stack.writeConfig({ ...config, workers: 0 });
  await expect.poll(() => read('gateway_configuration_refused'), SOON).toBe(1);
  expect(await read('gateway_configuration_reads_total', { result: 'refused' })).toBeGreaterThan(0);
  expect(await examine()).toMatch(/^problem {2}configuration .*workers: /m);
  gateway.stack.writeConfig(config);
  await expect.poll(() => read('gateway_configuration_refused'), SOON).toBe(0);
  await gateway.stack.envoy.end('SIGKILL');
  await expect.poll(() => read('gateway_envoy_up'), SOON).toBe(0);
  await expect.poll(() => read('gateway_ready'), SOON).toBe(0);
  const text = await examine();
  expect(text).toMatch(/^problem {2}readiness .*a request through Envoy failed: /m);
  expect(text).toContain('the alert GatewayNotReady');
  await expect.poll(examine, SOON).toMatch(/^problem {2}envoy on .* does not answer/m);
});
