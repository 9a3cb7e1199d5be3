import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { GATEWAY_STATUS, type PlayInput } from '#contract/playground.ts';
import { eventsOf, type GatewayClient, gatewayClient, jsonOf, outcome } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { requirement } from '../harness/requirement.ts';
import { createBrowser } from '../integration/dashboard/dashboard-browser.ts';
import { type Compose, missingCompose, prepareCompose } from './compose.ts';
import { startPod } from './pod.ts';

/**
 * `docker compose up` and a user's next steps: a first request, a page, and stopping containers
 * under running streams. Then the pod of deploy/kubernetes on the same stores.
 */
const BUILD_AND_START_MS = 300_000;
const SLOW_TEST_MS = 60_000;
const REPORTED_WITHIN_MS = 20_000;
/** Envoy looks addresses up every 5 s. */
const FOUND_WITHIN_MS = 15_000;
const STREAMS = 20;
/** Together below `limits.read_rpm` of one key. */
const LOAD_CLIENTS = 4;
const LOAD_PACE_MS = 100;
/** The demo model waits three seconds, then streams for one and a half. */
const SLOW = { model: 'demo-chat', stream: true, messages: [{ role: 'user', content: 'slow' }] };

let compose: Compose;
let client: GatewayClient;
let organizationId: string;

requirement(missingCompose(), () => {
  beforeAll(async () => {
    compose = await prepareCompose();
    await compose.run('up', '-d', '--build');
    await untilReady(compose);
    const { id } = await compose.operate<{ id: string }>('org', 'create', '--name', 'Compose', '--credit', '10');
    organizationId = id;
    client = gatewayClient(compose.apiOrigin, await createKey());
  }, BUILD_AND_START_MS);

  afterAll(async () => {
    client?.close();
    await compose?.run('down', '-v', '--remove-orphans', '--timeout', '5');
  }, SLOW_TEST_MS);

  test('a completion, a stream and the dashboard work', async () => {
    const completion = await client.chat({ model: 'demo-chat' });
    expect(outcome(completion)).toBe('200');
    expect(jsonOf<{ usage: { cost: number } }>(completion).usage.cost).toBeGreaterThan(0);
    expect(isWhole(await client.chat({ model: 'demo-chat', stream: true }))).toBe(true);
    const page = await fetch(`${compose.dashboardOrigin}/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });

  test("the dashboard reaches Envoy for a member's play", async () => {
    const person = ['--email', 'player@example.com', '--org', organizationId];
    const { email, password } = await compose.operate<{ email: string; password: string }>('user', 'create', ...person);
    const browser = createBrowser(compose.dashboardOrigin);
    expect((await browser.send('POST', '/api/session', { email, password })).status).toBe(200);
    const messages = [{ role: 'user', content: 'Hello' }] as const;
    const input: PlayInput = { chat: { model: 'demo-chat', messages, max_tokens: 50 } };
    const play = await browser.send('POST', `/api/organizations/${organizationId}/playground`, input);
    expect([play.status, play.headers[GATEWAY_STATUS]]).toEqual([200, '200']);
    expect(play.text).toContain('data: [DONE]');
  });

  test.each(['gateway', 'envoy'])('%s has the folder of the certificate at the configured path', async (service) => {
    expect(await compose.run('exec', '-T', service, 'ls', '-A', '/config/tls')).toContain('.gitignore');
  });

  test(
    'while the gateway container is replaced, streams complete and new requests get an envelope',
    async () => {
      const streams = await startStreams(client, compose);
      const load = startLoad(client);
      await compose.run('up', '-d', '--force-recreate', '--no-deps', 'gateway');
      expect(await streams.whole).toBe(STREAMS);
      await untilReady(compose);
      const { outcomes, cut } = await load.stop();
      expect(cut).toEqual([]);
      expect([...outcomes.keys()].sort()).toEqual(['200', '503 no_capacity']);
      expect(outcome(await client.chat({ model: 'demo-chat' }))).toBe('200');
    },
    SLOW_TEST_MS,
  );

  test(
    'a provider whose container is replaced is found at its new address, although Docker names the old one for 600 s',
    async () => {
      await compose.run('rm', '-sf', 'demo-provider');
      // Takes the address that has become free.
      await compose.run('run', '-d', '--no-deps', '--entrypoint', 'sleep', 'demo-provider', '60');
      await compose.run('up', '-d', '--no-deps', 'demo-provider');
      const answered = async () => outcome(await client.chat({ model: 'demo-chat' }));
      await expect.poll(answered, { timeout: FOUND_WITHIN_MS, interval: 500 }).toBe('200');
    },
    SLOW_TEST_MS,
  );

  test(
    'on a stop streams complete, and all their charges are in the ledger',
    async () => {
      const streams = await startStreams(client, compose);
      await compose.run('stop', 'envoy', 'gateway', 'demo-provider');
      expect(await streams.whole).toBe(STREAMS);
      await compose.run('start', 'demo-provider', 'gateway');
      await expect.poll(() => compose.operate('ledger', 'verify')).toMatchObject({ ok: true });
    },
    SLOW_TEST_MS,
  );

  test(
    'a pod that Kubernetes ends refuses nothing until load balancers have noticed, and its streams complete',
    async () => {
      const { project, image } = compose;
      const pod = await startPod({
        networks: [`${project}_edge`, `${project}_database`, `${project}_limits`, `${project}_demo`],
        prefix: project,
        image,
      });
      try {
        await untilReady(pod);
        const ofPod = gatewayClient(pod.apiOrigin, await createKey());
        const streams = await startStreams(ofPod, pod);
        const load = startLoad(ofPod);
        const ended = pod.terminate();
        // An earlier failure is the one that is reported.
        ended.catch(() => undefined);
        await expect.poll(() => fetch(`${pod.metricsOrigin}/ready`).then(({ status }) => status)).toBe(503);
        // Nearly the whole wait of preStop.
        await sleep(8_000);
        const { outcomes, cut } = await load.stop();
        expect([...outcomes.keys(), ...cut]).toEqual(['200']);
        const late = await startStreams(ofPod, pod);
        expect([await streams.whole, await late.whole, await ended]).toEqual([STREAMS, STREAMS, ['0', '0']]);
        ofPod.close();
      } catch (error) {
        throw new Error(`${String(error)}\n${(await pod.logs()).slice(-4000)}`, { cause: error });
      } finally {
        await pod.remove();
      }
    },
    SLOW_TEST_MS,
  );

  test(
    'with a database user for each process every process works, and the doctor finds no problem inside the network',
    async () => {
      const files = ['docker-compose.yml', 'deploy/compose/least-privilege.yaml'].flatMap((file) => ['-f', file]);
      await compose.run(...files, 'up', '-d');
      await untilReady(compose);
      expect(outcome(await client.chat({ model: 'demo-chat' }))).toBe('200');
      const dashboard = () => fetch(`${compose.dashboardOrigin}/live`).then(({ status }) => status, String);
      await expect.poll(dashboard, { timeout: 20_000 }).toBe(200);
      const asOperator = [...files, 'run', '--rm', '-T', 'operator'];
      const sawTheProcess = expect.objectContaining({ check: 'gateway versions', verdict: 'ok' });
      // Processes report every two seconds, so the last report may be older than Envoy's start.
      await vi.waitFor(
        async () => {
          const examined = JSON.parse(await compose.run(...asOperator, 'doctor', '--json'));
          expect(examined).toMatchObject({ ok: true, findings: expect.arrayContaining([sawTheProcess]) });
        },
        { timeout: REPORTED_WITHIN_MS, interval: 500 },
      );
      expect(await compose.operate('doctor')).toMatchObject({ ok: true });
      await expect(compose.run(...asOperator, 'migrate')).rejects.toThrow(
        /gateway_operator_login does not own the tables/,
      );
    },
    BUILD_AND_START_MS,
  );
});

async function createKey(): Promise<string> {
  const flags = ['--org', organizationId, '--name', 'test', '--scopes', 'chat,usage:read'];
  return (await compose.operate<{ key: string }>('key', 'create', ...flags)).key;
}

interface Metered {
  readonly metricsOrigin: string;
}

async function untilReady({ metricsOrigin }: Metered): Promise<void> {
  const ready = async (): Promise<void> => {
    const response = await fetch(`${metricsOrigin}/ready`);
    if (!response.ok) throw new Error(`not ready: ${await response.text()}`);
  };
  await vi.waitFor(ready, { timeout: SLOW_TEST_MS, interval: 100 });
}

/**
 * Resolves when all streams have reached the demo model. `whole` resolves with the number of
 * complete ones.
 */
async function startStreams(by: GatewayClient, { metricsOrigin }: Metered): Promise<{ whole: Promise<number> }> {
  const streams = Array.from({ length: STREAMS }, () => by.chat(SLOW));
  const whole = Promise.allSettled(streams).then(
    (all) => all.filter((settled) => settled.status === 'fulfilled' && isWhole(settled.value)).length,
  );
  const inFlight = async () => {
    const metrics = await (await fetch(`${metricsOrigin}/metrics`)).text();
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
  /** Number of each outcome. `cut` has failures without a response of ours. */
  stop(): Promise<{ outcomes: ReadonlyMap<string, number>; cut: readonly string[] }>;
}

/** Starts clients that send short requests in sequence. */
function startLoad(by: GatewayClient): Load {
  const outcomes = new Map<string, number>();
  const cut: string[] = [];
  let stopping = false;
  const sendAll = async (): Promise<void> => {
    while (!stopping) {
      try {
        const seen = outcome(await by.get('/v1/models'));
        outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1);
      } catch (error) {
        cut.push(String(error));
      }
      await sleep(LOAD_PACE_MS);
    }
  };
  const clients = Promise.all(Array.from({ length: LOAD_CLIENTS }, sendAll));
  return {
    stop: async () => {
      stopping = true;
      await clients;
      return { outcomes, cut };
    },
  };
}
