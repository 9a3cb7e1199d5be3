import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { replaceFile } from '#ext-proc/envoy-config/replace-file.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { eventsOf, type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { streamAnswer } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { startUnsupervised, type Unsupervised } from './unsupervised.ts';

/**
 * Containers are stopped one by one or together, in an order that the gateway does not control. No
 * running stream may be cut.
 */
const STREAMS = 20;
const PIECES = ['one', ' two', ' three', ' four', ' five', ' six', ' seven', ' eight', ' nine', ' ten'];
/** Longer than Envoy's drain time, so that Envoy stops listening while they run. */
const STREAM_MS = 6_000;
/** Long enough for requests during the drain, even if the machine pauses for a moment. */
const ENVOY_DRAIN_S = 4;
/** Longest wait of Envoy's container for requests in flight. */
const LONGEST_WAIT_S = 12;

let provider: FakeProvider;
let containers: Unsupervised;
let client: GatewayClient;
let key: string;
/** Resources of one test that were started and have to be closed. */
const opened: { close(): Promise<void> | void }[] = [];

beforeEach(async () => {
  provider = await startFakeProvider();
  opened.push(provider);
  provider.script('slow', streamAnswer({ pieces: PIECES, paceMs: STREAM_MS / PIECES.length }));
  containers = await startUnsupervised({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      providers: { fake: { base_url: provider.baseUrl } },
      models: { slow: {}, quick: {} },
    },
    env: { ENVOY_END_WAIT_S: String(LONGEST_WAIT_S) },
    envoyDrainS: ENVOY_DRAIN_S,
  });
  opened.push(containers);
  ({ key } = await containers.operator.customer());
  client = gatewayClient(containers.origin, key);
  opened.push(client);
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});
showLogsOnFailure(() => containers);

/** Resolves when all streams have started. `whole` resolves with the number of complete ones. */
async function startStreams(): Promise<{ whole: Promise<number> }> {
  let begun = 0;
  const allBegun = Promise.withResolvers<void>();
  const onHead = (): void => {
    begun += 1;
    if (begun === STREAMS) allBegun.resolve();
  };
  const streams = Array.from({ length: STREAMS }, () => client.chat({ model: 'slow', stream: true }, { onHead }));
  const whole = Promise.allSettled(streams).then((all) => all.filter(isWhole).length);
  await allBegun.promise;
  return { whole };
}

function isWhole(settled: PromiseSettledResult<Received>): boolean {
  if (settled.status === 'rejected') return false;
  const { status, text } = settled.value;
  return status === 200 && eventsOf(settled.value).at(-1) === '[DONE]' && text.includes('ten');
}

async function ready(): Promise<number> {
  return (await fetch(`${containers.metricsOrigin}/ready`)).status;
}

test("when Envoy's container is stopped, its streams complete first and readiness fails at once", async () => {
  const streams = await startStreams();
  containers.envoy.child.kill('SIGTERM');
  await expect.poll(ready).toBe(503);
  // A client that connects before the load balancer has noticed is served, with `connection:
  // close`.
  const late = await client.chat({ model: 'quick' });
  expect([outcome(late), late.headers.connection]).toEqual(['200', 'close']);
  await sleep(ENVOY_DRAIN_S * 1000 + 500);
  await expect(client.chat({ model: 'quick' })).rejects.toThrow('ECONNREFUSED');
  // Nobody is paged for it.
  const metrics = await (await fetch(`${containers.metricsOrigin}/metrics`)).text();
  expect(metrics).not.toMatch(/^gateway_ready /m);
  expect(await streams.whole).toBe(STREAMS);
  expect(await containers.envoy.exited).toBe(0);
  expect(containers.gateway.hasEnded()).toBe(false);
  await containers.operator.verifyLedger();
});

test('a request over an idle connection while both containers stop is served, and the connection is closed', async () => {
  const socket = connect(Number(new URL(containers.origin).port), '127.0.0.1');
  opened.push({ close: () => void socket.destroy() });
  const body = JSON.stringify({ model: 'quick', messages: [{ role: 'user', content: 'hello' }] });
  const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const asked = async () => {
    socket.write(request);
    return String((await once(socket, 'data'))[0]).toLowerCase();
  };
  expect(await asked()).toMatch(/^http\/1\.1 200 ok(?!.*connection: close)/s);
  const streams = await startStreams();
  containers.envoy.child.kill('SIGTERM');
  await expect.poll(ready).toBe(503);
  containers.gateway.child.kill('SIGTERM');
  await expect.poll(() => containers.gateway.output()).toContain('"reason":"SIGTERM"');
  expect(await asked()).toMatch(/^http\/1\.1 200 ok.*connection: close/s);
  expect(await streams.whole).toBe(STREAMS);
  expect([await containers.envoy.exited, await containers.gateway.exited]).toEqual([0, 0]);
  await containers.operator.verifyLedger();
});

test('when both are stopped at once, the streams complete before Envoy and the gateway process exit', async () => {
  const streams = await startStreams();
  containers.envoy.child.kill('SIGTERM');
  containers.gateway.child.kill('SIGTERM');
  expect(await streams.whole).toBe(STREAMS);
  expect([await containers.envoy.exited, await containers.gateway.exited]).toEqual([0, 0]);
  await containers.operator.verifyLedger();
});

test('when the bootstrap changes, streams complete and Envoy exits, so that its container restarts with the new one', async () => {
  const streams = await startStreams();
  const bootstrap = join(containers.paths.envoyDir, 'envoy.yaml');
  const text = await readFile(bootstrap, 'utf8');
  await replaceFile(bootstrap, text);
  // Each start of a gateway process rewrites the same file, on which Envoy must not exit.
  await sleep(1_500);
  expect([containers.envoy.hasEnded(), await ready()]).toEqual([false, 200]);
  await replaceFile(bootstrap, `${text}# of another release\n`);
  expect(await streams.whole).toBe(STREAMS);
  expect(await containers.envoy.exited).toBe(0);
  expect(containers.gateway.hasEnded()).toBe(false);
});

test('when the gateway process is stopped, its streams complete, and Envoy refuses new requests', async () => {
  const streams = await startStreams();
  containers.gateway.child.kill('SIGTERM');
  await expect.poll(async () => outcome(await client.chat({ model: 'quick' }))).toBe('503 no_capacity');
  expect(await streams.whole).toBe(STREAMS);
  expect(await containers.gateway.exited).toBe(0);
  expect(outcome(await client.chat({ model: 'quick' }))).toBe('503 no_capacity');

  const startMs = performance.now();
  containers.envoy.child.kill('SIGTERM');
  expect(await containers.envoy.exited).toBe(0);
  // Without a gateway process no report of requests in flight can come, so Envoy's container does
  // not wait for one.
  expect((performance.now() - startMs) / 1000).toBeLessThan(LONGEST_WAIT_S - 2);
});

test('with a suspended gateway process Envoy exits after its longest wait', async () => {
  containers.gateway.child.kill('SIGSTOP');
  const startMs = performance.now();
  containers.envoy.child.kill('SIGTERM');
  expect(await containers.envoy.exited).toBe(0);
  const tookS = (performance.now() - startMs) / 1000;
  expect(tookS).toBeGreaterThan(LONGEST_WAIT_S - 1);
  expect(tookS).toBeLessThan(LONGEST_WAIT_S + 10);
  containers.gateway.child.kill('SIGCONT');
});
