import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { MAX_HEADER_BYTES } from '#ext-proc/transport/ext-proc/request-head.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, outcome } from '../harness/gateway-client.ts';
import { readMetrics } from '../harness/metrics-page.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { type MockProvider, startMockProvider } from '../load/children.ts';
import { openWaitingUploads, type WaitingUploads } from '../load/waiting-uploads.ts';

/**
 * One key has more requests that wait for their bodies than a process has slots, or requests with
 * large heads.
 */
let provider: MockProvider;
let stack: Stack;
let otherKey: string;
let flood: WaitingUploads | undefined;

beforeEach(async () => {
  provider = await startMockProvider();
  stack = await startStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
      models: { json: {} },
      limits: { refused_rpm: 1_000_000 },
    },
  });
  otherKey = (await stack.operator.customer({ credit: '1000' })).key;
});
afterEach(async () => {
  flood?.close();
  await stack?.close();
  await provider?.stop();
});
showLogsOnFailure(() => stack);

const IN_FULL = process.env.CI === 'true';
const MIB = 1024 * 1024;
/** Unfinished uploads of an organization with its default concurrency of 64. */
const SHARE = 320;
/** Nearly the largest head that the process accepts. Envoy adds some headers. */
const HEAD_BYTES = MAX_HEADER_BYTES * 0.9;
const BODY_BUDGET_BYTES = 512 * MIB;

async function others(requests: number): Promise<string[]> {
  const client = gatewayClient(stack.origin, otherKey);
  const messages = [{ role: 'user', content: 'Hello '.repeat(150) }];
  const asked: Promise<string>[] = [];
  for (let request = 0; request < requests; request++) {
    asked.push(client.chat({ model: 'json', messages }).then(outcome));
    await sleep(100);
  }
  const outcomes = await Promise.all(asked);
  client.close();
  return outcomes;
}

const served = (requests: number) => Array<string>(requests).fill('200');
const answered = () => Object.values(flood?.answers ?? {}).reduce((sum, count) => sum + count, 0);

/** Memory for bodies and requests in progress, read at the same time. */
async function held(): Promise<{ readonly bytes: number; readonly requests: number }> {
  const { samples } = await readMetrics(stack.metricsOrigin);
  const figure = (name: string, use?: string) =>
    samples.find((sample) => sample.name === name && sample.labels.use === use)?.value ?? Number.NaN;
  return {
    bytes: figure('gateway_memory_held_bytes', 'request_bodies'),
    requests: figure('gateway_requests_in_flight'),
  };
}

test('more uploads of a key than there are slots do not cause refusals for others, and leave nothing held', async () => {
  const uploads = IN_FULL ? 21_000 : 3_000;
  const { key } = await stack.operator.customer({});
  flood = await openWaitingUploads({ port: stack.apiPort, key, uploads, perSecond: 2_000 });
  expect(await others(20)).toEqual(served(20));
  await expect.poll(answered, { timeout: 60_000 }).toBe(uploads);
  expect(Object.keys(flood.answers).sort()).toEqual(['request_timeout', 'rpm_exceeded']);
  expect(flood.answers.rpm_exceeded).toBeGreaterThan(uploads / 2);
  expect(flood.answers.request_timeout).toBeGreaterThanOrEqual(SHARE);
  await expect.poll(async () => (await held()).bytes).toBe(0);
}, 240_000);

test('uploads with the largest heads take less memory than the budget for bodies', async () => {
  const uploads = IN_FULL ? 8_000 : 2_000;
  const { key } = await stack.operator.customer({ organization: { concurrency: 10_000 } });
  const beforeBytes = residentBytes(stack.gateway.pid);
  let most = { bytes: 0, requests: 0 };
  const watching = setInterval(async () => {
    const now = await held().catch(() => most);
    if (now.bytes > most.bytes) most = now;
  }, 200);
  flood = await openWaitingUploads({ port: stack.apiPort, key, uploads, perSecond: 800, headBytes: HEAD_BYTES });
  expect(await others(20)).toEqual(served(20));
  expect(residentBytes(stack.gateway.pid) - beforeBytes).toBeLessThan(BODY_BUDGET_BYTES);
  await expect.poll(answered, { timeout: 60_000 }).toBe(uploads);
  clearInterval(watching);
  expect(most.bytes).toBeGreaterThan(IN_FULL ? 100 * MIB : 20 * MIB);
  // Each upload counts at least with its head.
  expect(most.requests).toBeGreaterThan(SHARE);
  expect(most.bytes).toBeGreaterThan(most.requests * HEAD_BYTES);
  expect(most.bytes).toBeLessThanOrEqual(BODY_BUDGET_BYTES);
  await expect.poll(async () => (await held()).bytes).toBe(0);
}, 240_000);
