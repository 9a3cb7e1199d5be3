import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { eventsOf, type GatewayClient, gatewayClient, jsonOf, outcome } from '../integration/gateway-client.ts';
import type { Received } from '../integration/http-client.ts';
import { requirement } from '../requirement.ts';
import { type Compose, missingCompose, prepareCompose } from './compose.ts';

/** `docker compose up` and what a user does then: a first request, a page, and stopping containers under streams that run. */
const BUILD_AND_START_MS = 300_000;
const SLOW_TEST_MS = 60_000;
const STREAMS = 20;
/** The demo model waits three seconds, and then streams for one and a half. */
const SLOW = { model: 'demo-chat', stream: true, messages: [{ role: 'user', content: 'slow' }] };

let compose: Compose;
let client: GatewayClient;

requirement(missingCompose(), () => {
  beforeAll(async () => {
    compose = await prepareCompose();
    await compose.run('up', '-d', '--build');
    await untilReady();
    const { id } = await compose.operate<{ id: string }>('org', 'create', '--name', 'Compose', '--credit', '10');
    const scopes = ['--scopes', 'chat,usage:read'];
    const { key } = await compose.operate<{ key: string }>('key', 'create', '--org', id, '--name', 'test', ...scopes);
    client = gatewayClient(compose.apiOrigin, key);
  }, BUILD_AND_START_MS);

  afterAll(async () => {
    client?.close();
    await compose?.run('down', '-v', '--timeout', '5');
  }, SLOW_TEST_MS);

  test('a completion, a stream and the dashboard answer', async () => {
    const completion = await client.chat({ model: 'demo-chat' });
    expect(outcome(completion)).toBe('200');
    expect(jsonOf<{ usage: { cost: number } }>(completion).usage.cost).toBeGreaterThan(0);
    expect(isWhole(await client.chat({ model: 'demo-chat', stream: true }))).toBe(true);
    const page = await fetch(`${compose.dashboardOrigin}/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });

  test(
    'another container for the gateway process: streams end whole, and what comes meanwhile gets an envelope',
    async () => {
      const streams = await startStreams();
      const load = startLoad();
      await compose.run('up', '-d', '--force-recreate', '--no-deps', 'gateway');
      expect(await streams.whole).toBe(STREAMS);
      await untilReady();
      const { outcomes, cut } = await load.stop();
      expect(cut).toEqual([]);
      expect([...outcomes.keys()].sort()).toEqual(['200', '503 no_capacity']);
      expect(outcome(await client.chat({ model: 'demo-chat' }))).toBe('200');
    },
    SLOW_TEST_MS,
  );

  test(
    'stop: streams end whole, and every charge of theirs is in the ledger',
    async () => {
      const streams = await startStreams();
      await compose.run('stop', 'envoy', 'gateway', 'demo-provider');
      expect(await streams.whole).toBe(STREAMS);
      await compose.run('start', 'demo-provider', 'gateway');
      await expect.poll(() => compose.operate('ledger', 'verify'), { timeout: 20_000 }).toMatchObject({ ok: true });
    },
    SLOW_TEST_MS,
  );
});

async function untilReady(): Promise<void> {
  const ready = async (): Promise<void> => {
    const response = await fetch(`${compose.metricsOrigin}/ready`);
    if (!response.ok) throw new Error(`not ready: ${await response.text()}`);
  };
  await vi.waitFor(ready, { timeout: SLOW_TEST_MS, interval: 100 });
}

/** Resolves when the demo model has every stream; `whole` counts those that came to their end. */
async function startStreams(): Promise<{ whole: Promise<number> }> {
  const streams = Array.from({ length: STREAMS }, () => client.chat(SLOW));
  const whole = Promise.allSettled(streams).then(
    (all) => all.filter((settled) => settled.status === 'fulfilled' && isWhole(settled.value)).length,
  );
  const inFlight = async () => {
    const metrics = await (await fetch(`${compose.metricsOrigin}/metrics`)).text();
    const gauges = metrics.matchAll(/^gateway_requests_in_flight(?:\{[^}]*\})? (\d+)$/gm);
    return [...gauges].reduce((sum, [, value]) => sum + Number(value), 0);
  };
  await expect.poll(inFlight, { timeout: 2_500, interval: 50 }).toBeGreaterThanOrEqual(STREAMS);
  return { whole };
}

function isWhole(received: Received): boolean {
  return received.status === 200 && eventsOf(received).at(-1) === '[DONE]' && received.text.includes('"stop"');
}

interface Load {
  /** How often each outcome came; `cut` has what was no answer of ours. */
  stop(): Promise<{ outcomes: ReadonlyMap<string, number>; cut: readonly string[] }>;
}

/** Four clients that send one short request after the other, each on a connection of its own. */
function startLoad(): Load {
  const outcomes = new Map<string, number>();
  const cut: string[] = [];
  let stopping = false;
  const sendAll = async (): Promise<void> => {
    while (!stopping) {
      try {
        const seen = outcome(await client.get('/v1/models'));
        outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1);
      } catch (error) {
        cut.push(String(error));
      }
      await sleep(20);
    }
  };
  const clients = Promise.all([sendAll(), sendAll(), sendAll(), sendAll()]);
  return {
    stop: async () => {
      stopping = true;
      await clients;
      return { outcomes, cut };
    },
  };
}
