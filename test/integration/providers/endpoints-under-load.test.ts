import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clustersPath } from '#ext-proc/envoy-config/bootstrap.ts';
import { clusterFile } from '#ext-proc/envoy-config/clusters.ts';
import { type Cluster, providerCluster } from '#ext-proc/envoy-config/provider-cluster.ts';
import { replaceFile } from '#ext-proc/envoy-config/replace-file.ts';
import { activeClusters, call, until } from '../../harness/cluster-fixture.ts';
import { type EnvoyProcess, startEnvoy } from '../../harness/envoy-process.ts';
import { balanceOf, eventsOf, jsonOf, outcome, untilNothingHeld } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { plainAnswer, reset, slowly, streamThen } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';
import { type FakeProvider, startFakeProvider } from '../../provider/fake-provider.ts';

/** Endpoints that are slow or end while requests are in flight. */

const CHEAP = { input: 0.001, output: 0.001 };

describe('through the gateway', () => {
  const servers: FakeProvider[] = [];
  const gateway = withGateway(async () => {
    for (let i = 0; i < 3; i++) servers.push(await startFakeProvider());
    return {
      config: {
        providers: { own: { endpoints: servers.map(({ baseUrl }) => baseUrl) } },
        models: { m: {}, cut: {}, large: { context_window: 5_000_000, usd_per_million_tokens: CHEAP } },
        // Envoy retries failed requests, those with large bodies in the second attempt only.
        retries: { per_target: 1 },
      },
    };
  });
  afterAll(() => Promise.all(servers.map((server) => server.close())));

  function asked(model: string): number {
    return servers.reduce((sum, server) => sum + server.requests(model).length, 0);
  }

  test('a stream that breaks after its first byte is not retried, and charged once', async () => {
    const client = await gateway.openClient();
    for (const server of servers) server.script('cut', streamThen(3, reset));
    const before = await balanceOf(client);
    const received = await client.chat({ model: 'cut', stream: true });
    expect(received.status).toBe(200);
    expect(eventsOf(received).at(-1)).toBe('[DONE]');
    await untilNothingHeld(client);
    expect(asked('cut')).toBe(1);
    expect(await balanceOf(client)).toBeLessThan(before);
  });

  test('a large body is sent to the other endpoints in the second attempt', async () => {
    const client = await gateway.openClient();
    for (const server of servers.slice(0, 2)) server.script('large', reset);
    const messages = [{ role: 'user', content: 'x '.repeat(1_000_000) }];
    const results: string[] = [];
    for (let i = 0; i < 10; i++) results.push(outcome(await client.chat({ model: 'large', messages, max_tokens: 5 })));
    expect(servers[0]?.requests('large').length).toBeGreaterThan(0);
    expect(new Set(results)).toEqual(new Set(['200']));
  });

  test('one endpoint ends under load: every request succeeds and is charged once', async () => {
    const client = await gateway.openClient();
    for (const server of servers) server.script('m', slowly(40, plainAnswer));
    await untilNothingHeld(client);
    const before = await balanceOf(client);
    const outcomes: string[] = [];
    let charged = 0;
    const worker = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const received = await client.chat({ model: 'm', max_tokens: 100 });
        outcomes.push(outcome(received));
        charged += jsonOf<{ usage: { cost: number } }>(received).usage.cost;
      }
    };
    const working = Promise.all(Array.from({ length: 16 }, () => worker(20)));
    while (outcomes.length < 80) await sleep(5);
    await servers[2]?.close();
    await working;
    expect(new Set(outcomes)).toEqual(new Set(['200']));
    expect(outcomes).toHaveLength(320);
    await untilNothingHeld(client);
    expect(before - (await balanceOf(client))).toBeCloseTo(charged, 9);
  });
});

describe('compared with round robin', () => {
  const REQUESTS = 200;
  let envoy: EnvoyProcess;
  const started: FakeProvider[] = [];

  beforeAll(async () => {
    envoy = await startEnvoy();
  });
  afterAll(async () => {
    await Promise.all(started.map((server) => server.close()));
    await envoy?.stop();
  });

  /**
   * Starts two good endpoints, one that completes one request for every eight of its group, and one
   * that will end.
   */
  async function group(slow: Turns): Promise<readonly FakeProvider[]> {
    const servers = await Promise.all([1, 2, 3, 4].map(() => startFakeProvider()));
    started.push(...servers);
    for (const server of servers) server.script('m', slowly(20, plainAnswer));
    servers[2]?.script('m', slow.before(plainAnswer));
    return servers;
  }

  function clusterTo(servers: readonly FakeProvider[], name: string): Cluster {
    const [baseUrl, ...others] = servers.map((server) => new URL(server.baseUrl));
    if (baseUrl === undefined) throw new Error('no server');
    return providerCluster(name, { baseUrl, endpoints: [baseUrl, ...others] });
  }

  /**
   * Sends 50 requests a second for 4 s. The fourth endpoint fails after a quarter of them, and ends
   * after half.
   */
  async function load(cluster: string, servers: readonly FakeProvider[], slow: Turns): Promise<Figures> {
    const tookMs: number[] = [];
    const overtaken: number[] = [];
    let sent = 0;
    let failures = 0;
    const ask = async () => {
      const [startMs, before] = [performance.now(), sent];
      const status = await call(envoy, cluster, 'p').then(
        (answer) => answer.status,
        () => 0,
      );
      tookMs.push(performance.now() - startMs);
      overtaken.push(sent - before);
      if (status !== 200) failures += 1;
    };
    const asked: Promise<void>[] = [];
    while (sent < REQUESTS) {
      sent += 1;
      asked.push(ask());
      if (sent === REQUESTS / 4) servers[3]?.script('m', reset);
      if (sent === REQUESTS / 2) await servers[3]?.close();
      if (sent % 8 === 0) slow.one();
      await sleep(20);
    }
    slow.all();
    await Promise.all(asked);
    const p99 = (values: number[]) => Math.round(values.toSorted((a, b) => a - b)[REQUESTS * 0.99 - 1] ?? 0);
    return { p99Ms: p99(tookMs), p99Overtaken: p99(overtaken), failures };
  }

  test('a slow and an ending endpoint cause no failures, and waits are shorter', async () => {
    const slow = [turns(), turns()] as const;
    const groups = [await group(slow[0]), await group(slow[1])] as const;
    const ours = clusterTo(groups[0], 'p-000000000000-endpoints');
    const { outlier_detection: _, ...others } = clusterTo(groups[1], 'p-000000000001');
    const both = [ours, { ...others, lb_policy: 'ROUND_ROBIN' }].map((one) => [String(one.name), one] as const);
    await replaceFile(clustersPath(envoy.paths), clusterFile(new Map(both)).text);
    await until(async () => (await activeClusters(envoy)).length === 2);
    const [least, roundRobin] = await Promise.all([
      load(String(ours.name), groups[0], slow[0]),
      load(String(others.name), groups[1], slow[1]),
    ]);
    process.stdout.write(`least request ${JSON.stringify(least)}, round robin ${JSON.stringify(roundRobin)}\n`);
    expect(least.failures).toBe(0);
    expect(roundRobin.failures).toBeGreaterThan(0);
    expect(least.p99Overtaken).toBeLessThan(roundRobin.p99Overtaken);
  });
});

interface Figures {
  readonly p99Ms: number;
  /** Requests that were sent while one waited, a number that does not depend on the machine. */
  readonly p99Overtaken: number;
  readonly failures: number;
}

interface Turns {
  /** Runs `act` when the call gets its turn. */
  before(act: Act): Act;
  /** Gives a turn to the call that waits longest, or to the next one. */
  one(): void;
  /** Gives a turn to every call from now on. */
  all(): void;
}

function turns(): Turns {
  const waiting: (() => void)[] = [];
  let free = 0;
  const give = (count: number) => {
    free += count;
    while (free > 0 && waiting.length > 0) {
      free -= 1;
      waiting.shift()?.();
    }
  };
  return {
    before: (act) => async (given) => {
      const turn = new Promise<void>((resolve) => waiting.push(resolve));
      give(0);
      await turn;
      await act(given);
    },
    one: () => give(1),
    all: () => give(Number.POSITIVE_INFINITY),
  };
}
