import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { sql } from '../../harness/database.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient, jsonOf, outcome } from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../../harness/redis-server.ts';
import { requirement } from '../../harness/requirement.ts';
import { type SupervisedStack, startSupervisedStack } from '../../harness/stack.ts';
import type { TestConfig } from '../../harness/test-config.ts';
import { untilMinuteIsYoung } from '../../harness/young-window.ts';
import { signalAll } from '../../launchers/process-tree.ts';
import { allAtOnce, countOutcomes } from '../../load/all-at-once.ts';
import { jsonAnswer } from '../../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';
import { createGate } from '../../provider/gate.ts';

const WORKERS = 4;
/** A hold is exactly the output limit: 100 tokens at 1 USD per million. */
const LIMIT = 100;
const COST_OF_ONE = 0.0001;
const CROWD = { requests: 60, served: 10, maxTokens: LIMIT };
/** Enough requests that every process gets some. */
const IN_FLIGHT = 24;
const REFUSED_RPM = 100;

let redis: TestRedis;
let provider: FakeProvider;
let stack: SupervisedStack;

requirement(missingRedis, () => {
  describe('four gateway processes with one Redis', fourProcesses);
});

function fourProcesses(): void {
  beforeAll(async () => {
    redis = await startTestRedis();
    provider = await startFakeProvider();
    stack = await startSupervisedStack({
      postgresSocketDir: inject('postgresSocketDir'),
      config: config(),
    });
  });

  afterAll(async () => {
    await stack?.close();
    await provider?.close();
    await redis?.stop();
  });

  showLogsOnFailure(() => stack);

  test('60 at once with a balance for 10: 10 are served, 50 get 402', async () => {
    const { organizationId, key } = await stack.operator.customer({ credit: '0.001' });
    const received = await allAtOnce(provider, { ...CROWD, clients: [gatewayClient(stack.origin, key)] });
    expect(countOutcomes(received)).toEqual({ '200': 10, '402 insufficient_credits': 50 });
    expect(await stack.operator.balance(organizationId)).toBe(0);
    await stack.operator.verifyLedger();
  });

  test('refused requests are counted for all processes together', async () => {
    const { key } = await stack.operator.customer();
    const client = gatewayClient(stack.origin, key);
    await untilMinuteIsYoung(30_000);
    const outcomes: string[] = [];
    for (let i = 0; i < REFUSED_RPM + 60; i++) outcomes.push(outcome(await client.get('/v1/models?a=b')));
    // Separate counts of the processes would refuse four times as many.
    const refused = outcomes.filter((one) => one === '400 unknown_parameter').length;
    expect(refused).toBeGreaterThanOrEqual(REFUSED_RPM);
    expect(refused).toBeLessThan(REFUSED_RPM + 40);
    expect(outcomes.slice(-2 * WORKERS)).toEqual(Array.from({ length: 2 * WORKERS }, () => '429 rpm_exceeded'));
    expect(outcome(await client.get('/v1/models'))).toBe('429 rpm_exceeded');
    client.close();
  });

  test('metrics are sums of all processes, and every process served requests', async () => {
    const { key } = await stack.operator.customer();
    const client = gatewayClient(stack.origin, key);
    const before = await modelRequests();
    for (let i = 0; i < 2 * WORKERS; i++) await client.get('/v1/models');
    await expect.poll(async () => (await modelRequests()) - before).toBe(2 * WORKERS);
    const served = new Set(starts().map(({ worker }) => worker));
    expect([...served].sort()).toEqual([0, 1, 2, 3]);
    // Readiness probes reach any process, and none treats them as a caller.
    expect((await fetch(`${stack.metricsOrigin}/ready`)).status).toBe(200);
    expect(stack.logs()).not.toContain('invalid_api_key');
  });

  test("every process sends the same hash for a customer's identifier", async () => {
    const { key } = await stack.operator.customer();
    const client = gatewayClient(stack.origin, key);
    const asked = provider.requests('exact').length;
    const user = { user: 'somebody', max_tokens: LIMIT };
    for (let i = 0; i < 2 * WORKERS; i++) expect(outcome(await client.chat({ model: 'exact', ...user }))).toBe('200');
    const seen = provider.requests('exact').slice(asked);
    expect(seen).toHaveLength(2 * WORKERS);
    const [hash, ...others] = new Set(seen.map(({ json }) => json?.user));
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(others).toEqual([]);
  });

  test('every process reports its own holds, and one of them the state of Envoy', async () => {
    const { organizationId, key } = await stack.operator.customer();
    const gate = createGate();
    provider.script('exact', gate.before(jsonAnswer()));
    const client = gatewayClient(stack.origin, key);
    const answers = Array.from({ length: IN_FLIGHT }, () => client.chat({ model: 'exact', max_tokens: LIMIT }));
    await gate.waitFor(IN_FLIGHT);
    const reported = async () =>
      (
        await sql<{ worker: number; envoy: boolean; holds: number }>(
          stack.databaseUrl,
          `select worker, report->>'envoy' is not null as envoy,
             (report->'holds'->'organizations'->'${organizationId}'->>1)::int as holds
           from gateway_processes order by worker`,
        )
      ).map(({ worker, envoy, holds }) => ({ worker, envoy, holds: holds > 0 }));
    const expected = [0, 1, 2, 3].map((worker) => ({ worker, envoy: worker === 0, holds: true }));
    await expect.poll(reported).toEqual(expected);
    gate.open();
    expect(countOutcomes(await Promise.all(answers))).toEqual({ '200': IN_FLIGHT });
  });

  test('a reload reaches every process, and only after Envoy has its clusters', async () => {
    const { key } = await stack.operator.customer();
    const client = gatewayClient(stack.origin, key);
    const second = await startFakeProvider();
    try {
      const began = performance.now();
      stack.writeConfig({
        ...config(),
        providers: { fake: { base_url: provider.baseUrl }, second: { base_url: second.baseUrl } },
        models: { ...config().models, added: { targets: [{ provider: 'second', model: 'added' }] } },
      });
      const seen = new Set<string>();
      // Requests are distributed in turn, so this many in a row have reached every process.
      for (let inARow = 0; inARow < 2 * WORKERS; ) {
        expect(performance.now() - began).toBeLessThan(40_000);
        const result = outcome(await client.chat({ model: 'added' }));
        seen.add(result);
        inARow = result === '200' ? inARow + 1 : 0;
        if (inARow === 0) await sleep(50);
      }
      seen.delete('404 model_not_found');
      expect([...seen]).toEqual(['200']);
    } finally {
      stack.writeConfig(config());
      await second.close();
    }
  });

  test('after Redis restarts empty, nothing is admitted until its holds are registered again', async () => {
    const { organizationId, key } = await stack.operator.customer({ credit: '0.001' });
    const client = gatewayClient(stack.origin, key);
    const gate = createGate();
    provider.script('exact', gate.before(jsonAnswer({ usage: { prompt_tokens: 10, completion_tokens: LIMIT } })));
    const answers = Array.from({ length: 10 }, () => client.chat({ model: 'exact', max_tokens: LIMIT }));
    await gate.waitFor(10);
    const began = performance.now();
    await redis.restart();
    const ready = async () => (await fetch(`${stack.metricsOrigin}/ready`)).status;
    await expect.poll(ready).toBe(503);
    const outcomes = new Set<string>();
    for (;;) {
      expect(performance.now() - began).toBeLessThan(45_000);
      const result = outcome(await client.chat({ model: 'exact', max_tokens: LIMIT }));
      outcomes.add(result);
      if (result !== '503 no_capacity') break;
      // It is not ready during the whole pause, and not only while Redis is unreachable.
      if (performance.now() - began > 3000 && performance.now() - began < 9000) expect(await ready()).toBe(503);
      await sleep(100);
    }
    expect([...outcomes]).toEqual(['503 no_capacity', '402 insufficient_credits']);
    expect(performance.now() - began).toBeGreaterThan(10_000);
    await expect.poll(ready).toBe(200);
    expect(gate.arrived()).toBe(10);
    gate.open();
    expect(countOutcomes(await Promise.all(answers))).toEqual({ '200': 10 });
    expect(await stack.operator.balance(organizationId)).toBe(0);
    await stack.operator.verifyLedger();
  });

  test('after kill -9 of one process, others serve, and its holds are released within 30 s', async () => {
    const { key } = await stack.operator.customer({ credit: '1' });
    const client = gatewayClient(stack.origin, key);
    const gate = createGate();
    provider.script('exact', gate.before(jsonAnswer()));
    const outcomes: string[] = [];
    const answers = Array.from({ length: IN_FLIGHT }, async () => {
      outcomes.push(outcome(await client.chat({ model: 'exact', max_tokens: LIMIT })));
    });
    await gate.waitFor(IN_FLIGHT);
    expect(await heldUsd(client)).toBeCloseTo(IN_FLIGHT * COST_OF_ONE, 9);
    const [victim = 0] = gatewayProcesses(stack.supervisorPid);
    signalAll([victim], 'SIGKILL');
    const killedAtMs = performance.now();
    // Until then its sockets may accept connections that end with it.
    while (existsSync(`/proc/${victim}`)) await sleep(5);
    // It was the first one, and the address of the metrics answers at once all the same.
    expect((await fetch(`${stack.metricsOrigin}/ready`)).status).toBe(200);
    expect([3, 4]).toContain(await metric(stack.metricsOrigin, 'gateway_build_info'));
    expect(await metric(stack.metricsOrigin, 'gateway_workers')).toBe(4);
    expect(await metric(stack.metricsOrigin, 'gateway_ready')).toBe(1);
    // Requests of the killed process ended with it. Envoy sends all others to the live processes.
    await expect.poll(() => outcomes.length).toBeGreaterThan(0);
    const after = await Promise.all(Array.from({ length: 20 }, () => client.get('/v1/models')));
    expect(countOutcomes(after)).toEqual({ '200': 20 });
    while ((await heldUsd(client)) > (IN_FLIGHT - outcomes.length) * COST_OF_ONE + 1e-9) {
      expect(performance.now() - killedAtMs).toBeLessThan(30_000);
      await sleep(250);
    }
    // The holds of live processes are unchanged.
    const alive = IN_FLIGHT - outcomes.length;
    expect(await heldUsd(client)).toBeCloseTo(alive * COST_OF_ONE, 9);
    gate.open();
    await Promise.all(answers);
    expect(outcomes.filter((one) => one === '200')).toHaveLength(alive);
    await stack.operator.verifyLedger();
  });

  test('a process that hangs is killed after 30 s and started again, and its waiting charges are made', async () => {
    const { organizationId, key } = await stack.operator.customer({ credit: '1' });
    const client = gatewayClient(stack.origin, key);
    provider.script('exact', jsonAnswer({ usage: { prompt_tokens: 10, completion_tokens: LIMIT } }));
    const session = new pg.Client({ connectionString: stack.databaseUrl });
    await session.connect();
    onTestFinished(() => session.end());
    await session.query('begin');
    await session.query('select from accounts where organization_id = $1 for update', [organizationId]);
    const waiting = async () => (await readWorkerLog(stack.paths.chargeLogDir, 1)).waiting.length;
    let served = 0;
    for (; (await waiting()) === 0; served++)
      expect(outcome(await client.chat({ model: 'exact', max_tokens: LIMIT }))).toBe('200');
    signalAll([starts().findLast(({ worker }) => worker === 1)?.pid ?? 0], 'SIGSTOP');
    const beganMs = performance.now();
    const asked = Promise.all(Array.from({ length: 4 * WORKERS }, () => client.get('/v1/models')));
    const line = 'supervisor: Gateway process 1 ended with signal SIGKILL, because it had sent nothing for 30 s';
    // The other processes, and the dashboard, run for longer than that.
    const killed = () => stack.logs().match(/.* because it had sent nothing for 30 s/g);
    await expect.poll(killed).toEqual([line]);
    expect(performance.now() - beganMs).toBeGreaterThan(28_500);
    await session.end();
    expect(['200', '503 no_capacity']).toEqual(expect.arrayContaining((await asked).map(outcome)));
    await expect.poll(() => metric(stack.metricsOrigin, 'gateway_build_info')).toBe(WORKERS);
    expect(await stack.operator.balance(organizationId)).toBeCloseTo(1 - served * COST_OF_ONE, 9);
    await stack.operator.verifyLedger();
    expect(killed()).toEqual([line]);
  });
}

function config(): TestConfig {
  return {
    redis: redis.url,
    workers: WORKERS,
    limits: { refused_rpm: REFUSED_RPM },
    providers: { fake: { base_url: provider.baseUrl } },
    models: { exact: { usd_per_million_tokens: { input: 0, output: 1 } } },
    timeouts: { first_byte: '50s', stream_idle: '50s', total: '60s' },
  };
}

function starts(): { worker: number; pid: number }[] {
  const lines = stack.logs().split('\n');
  return lines.filter((line) => line.includes('the gateway process listens')).map((line) => JSON.parse(line));
}

async function heldUsd(client: GatewayClient): Promise<number> {
  return jsonOf<{ data: { held: number } }>(await client.get('/v1/credits')).data.held;
}

async function modelRequests(): Promise<number> {
  const counted = await metric(stack.metricsOrigin, 'gateway_requests_total', { route: 'models', status: '200' });
  return Number.isNaN(counted) ? 0 : counted;
}

function gatewayProcesses(supervisorPid: number): number[] {
  const found: number[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]);
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      if (parent === supervisorPid && command.includes('ext-proc/main.ts')) found.push(Number(name));
    } catch {
      // The process has ended meanwhile.
    }
  }
  return found.sort((a, b) => a - b);
}
