// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readClusterState } from '#ext-proc/envoy-config/envoy-admin.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import { metric } from '../harness/metrics-page.ts';
import type { Customer } from '../harness/operator.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import { untilShipped } from '../harness/shipped.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { startSteadyTraffic, type TrafficJob } from '../load/steady-traffic.ts';
import { plainAnswer, streamAnswer } from '../provider/acts.ts';
import type { Act } from '../provider/call.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';

/** The configuration changes repeatedly while requests must not be affected. */
const RELOADS = process.env.CI === 'true' ? 100 : 24;
const KEY_CHANGES = process.env.CI === 'true' ? 20 : 6;
const PROVIDERS = 3;
const MIB = 1024 * 1024;
const GROWN_MIB = 24;
/** A reload takes a second on an idle machine (docs/interface.md, "Configuration"). */
const IN_FORCE_WITHIN_MS = 20_000;
/** Requests in flight. */
const CLIENTS = 4;

let providers: FakeProvider[];
let stack: Stack;
let customer: Customer;

beforeAll(async () => {
  providers = await Promise.all(Array.from({ length: PROVIDERS }, () => startFakeProvider({ record: false })));
  stack = await startStack({ postgresSocketDir: inject('postgresSocketDir'), config: configOf(0) });
  customer = await stack.operator.customer({ credit: '1000000' });
});

afterAll(async () => {
  await stack?.close();
  await Promise.all((providers ?? []).map((provider) => provider.close()));
});

showLogsOnFailure(() => stack);

/**
 * Configuration number `index`. Prices identify it, and provider, time-outs and a further model
 * depend on it.
 */
function configOf(index: number): TestConfig {
  const price = { usd_per_million_tokens: { input: 1 + index, output: 1001 + index } };
  const name = `p${index % PROVIDERS}`;
  return {
    providers: { [name]: { base_url: providers[index % PROVIDERS]?.baseUrl ?? '' } },
    models: { json: price, stream: price, ...(index % 2 === 0 ? {} : { [`extra-${index}`]: price }) },
    timeouts: { first_byte: '20s', stream_idle: '20s', total: `${30 + (index % 5)}s` },
  };
}

function trafficJob(model: 'json' | 'stream'): TrafficJob {
  return {
    origin: stack.origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${customer.key}` },
    body: JSON.stringify({ model, stream: model === 'stream', messages: [{ role: 'user', content: 'Hello' }] }),
    concurrency: CLIENTS,
    mustContain: model === 'stream' ? 'data: [DONE]' : '"finish_reason":"stop"',
  };
}

const reads = (result: 'applied' | 'refused'): Promise<number> =>
  metric(stack.metricsOrigin, 'gateway_configuration_reads_total', { result });

async function untilRead(result: 'applied' | 'refused', count: number): Promise<void> {
  await expect.poll(() => reads(result), { timeout: IN_FORCE_WITHIN_MS, interval: 25 }).toBe(count);
}

async function activeClusters(): Promise<number> {
  return (await readClusterState(stack.paths.envoyAdminSocket))?.active.size ?? 0;
}

interface Charge {
  readonly provider: string;
  readonly input: number;
  readonly output: number;
  readonly prompt: number;
  readonly completion: number;
  readonly cost: number;
}

async function charges(): Promise<Charge[]> {
  await untilShipped(stack.paths);
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<Charge>(
      `select provider, (input_pico_usd / 1000000)::int as input, (output_pico_usd / 1000000)::int as output,
         prompt_tokens::int as prompt, completion_tokens::int as completion, cost_nano_usd::int as cost
       from generations`,
    );
    return rows;
  } finally {
    await client.end();
  }
}

test(`${RELOADS} reloads under load: no request fails, and each is charged by the configuration with which it started`, {
  timeout: 300_000,
}, async () => {
  for (const provider of providers) provider.script('stream', streamAnswer({ paceMs: 20 }));
  const traffic = startSteadyTraffic([trafficJob('json'), trafficJob('stream')], { requestsPerConnection: 50 });
  let applied = await reads('applied');
  let refused = await reads('refused');
  let warmEnvoyBytes = 0;
  for (let index = 1; index <= RELOADS; index++) {
    if (index % 5 === 0) {
      stack.writeConfig({ ...configOf(index), retries: { per_target: -1 } });
      await untilRead('refused', ++refused);
    }
    stack.writeConfig(configOf(index));
    await untilRead('applied', ++applied);
    if (index === 2 * PROVIDERS) warmEnvoyBytes = residentBytes(stack.envoy.pid);
  }
  const report = await traffic.stop();
  expect(report.faults).toEqual({});
  expect(report.good).toBeGreaterThan(RELOADS);
  // A provider that returns gets its former cluster, so there are never more clusters than
  // providers.
  expect(await activeClusters()).toBeLessThanOrEqual(PROVIDERS);
  expect((residentBytes(stack.envoy.pid) - warmEnvoyBytes) / MIB).toBeLessThan(GROWN_MIB);

  const client = gatewayClient(stack.origin, customer.key);
  await untilNothingHeld(client);
  client.close();
  await stack.operator.verifyLedger();
  const all = await charges();
  expect(all).toHaveLength(report.good);
  const mixed = all.filter(
    ({ provider, input, output, prompt, completion, cost }) =>
      output - input !== 1000 ||
      provider !== `p${(input - 1) % PROVIDERS}` ||
      cost !== 1000 * (prompt * input + completion * output),
  );
  expect(mixed).toEqual([]);
  expect(new Set(all.map(({ input }) => input)).size).toBeGreaterThan(RELOADS / 2);
  expect(stack.logs()).not.toMatch(/unhandled|"level":"fatal"/i);
});

/**
 * Replaces the secret as Kubernetes does: it writes a new folder, and moves the link `..data` to it
 * in one step.
 */
function putSecret(version: number): void {
  const folder = join(stack.paths.dataDir, 'secrets');
  mkdirSync(join(folder, `..v${version}`), { recursive: true });
  writeFileSync(join(folder, `..v${version}`, 'key'), `secret-${version}\n`);
  symlinkSync(`..v${version}`, join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  if (version === 1) symlinkSync('..data/key', join(folder, 'key'));
}

test(`a provider's key replaced ${KEY_CHANGES} times in its file, under load: it applies without a restart, and no request fails`, {
  timeout: 120_000,
}, async () => {
  // The provider accepts the former key only until the first request with the new one.
  let valid = 0;
  let newestSeen = 0;
  const seen = new Set<number>();
  const checked: Act = (call) => {
    const version = Number(/^Bearer secret-(\d+)$/.exec(String(call.seen.headers.authorization))?.[1]);
    seen.add(version);
    newestSeen = Math.max(newestSeen, version);
    return version >= valid ? plainAnswer(call) : call.reset();
  };
  for (const provider of providers) provider.script('json', checked);
  putSecret(1);
  let applied = await reads('applied');
  const config = configOf(0);
  const withFile = { base_url: providers[0]?.baseUrl ?? '', api_key: '${file:secrets/key}' };
  stack.writeConfig({ ...config, providers: { p0: withFile } });
  await untilRead('applied', ++applied);
  const traffic = startSteadyTraffic([trafficJob('json')]);
  for (let version = 2; version <= KEY_CHANGES + 1; version++) {
    const replacedMs = performance.now();
    putSecret(version);
    while (newestSeen < version) {
      if (performance.now() - replacedMs > IN_FORCE_WITHIN_MS) throw new Error(`key ${version} is not in force`);
      await sleep(5);
    }
    // Requests that were in flight at the first request with the new key may use the old one. Waits
    // until each client has had several responses since then.
    const before = traffic.good();
    await expect.poll(() => traffic.good()).toBeGreaterThan(before + 10 * CLIENTS);
    valid = version;
  }
  const report = await traffic.stop();
  expect(report.faults).toEqual({});
  expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: KEY_CHANGES + 1 }, (_, index) => index + 1));
  expect(stack.logs()).not.toContain('secret-');
});
