import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ClusterPublisher } from '#ext-proc/envoy-config/publish.ts';
import { call, callWith, clusterOf, configFrom, until } from '../../harness/cluster-fixture.ts';
import { eachProvider } from '../../harness/each-provider.ts';
import { startEnvoy } from '../../harness/envoy-process.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { opened } from '../../harness/opened.ts';
import { errorAnswer, jsonAnswer, plainAnswer, rawAnswer, reset, resetAfterBytes, stall } from '../../provider/acts.ts';
import { makeCertificate } from '../../provider/certificate.ts';
import type { FakeProvider } from '../../provider/fake-provider.ts';
import { createGate } from '../../provider/gate.ts';

/** How a real Envoy divides requests among several servers of one provider. */

const envoy = opened(startEnvoy);
const publisher = opened(async () => new ClusterPublisher({ paths: envoy.paths, onFault: () => {}, drainMarginMs: 0 }));
const certificate = makeCertificate();
const start = eachProvider();

showLogsOnFailure(() => envoy && { logs: envoy.log });

async function two(): Promise<readonly [FakeProvider, FakeProvider]> {
  return [await start(), await start()];
}

/** Publishes a provider with these endpoints. Returns its cluster. */
async function publish(endpoints: readonly string[], more: object = {}, caPath?: string): Promise<string> {
  const config = await configFrom(envoy, { p: { endpoints, ...more } }, { caPath });
  expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: true });
  return clusterOf(config, 'p');
}

function urlsOf(all: readonly FakeProvider[]): string[] {
  return all.map(({ baseUrl }) => baseUrl);
}

async function statuses(cluster: string, count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < count; i++) seen.push((await call(envoy, cluster, 'p')).status);
  return seen;
}

function asked(server: FakeProvider): number {
  return server.requests('m').length;
}

describe('requests', () => {
  test('go to all endpoints, each with its own Host', async () => {
    const all = await two();
    expect(new Set(await statuses(await publish(urlsOf(all)), 40))).toEqual(new Set([200]));
    for (const server of all) {
      expect(asked(server)).toBeGreaterThan(5);
      expect(new Set(server.requests('m').map(({ headers }) => headers.host))).toEqual(
        new Set([`127.0.0.1:${server.port}`]),
      );
      expect(server.requests('m')[0]?.headers).not.toHaveProperty('x-gw-cluster');
    }
  });

  test('avoid an endpoint with more open requests', async () => {
    const [slow, fast] = await two();
    const gate = createGate();
    slow.script('m', gate.before(plainAnswer));
    const cluster = await publish(urlsOf([slow, fast]));
    const calls: ReturnType<typeof call>[] = [];
    const send = async () => {
      const sent = call(envoy, cluster, 'p');
      calls.push(sent);
      await Promise.race([sent, until(async () => asked(slow) + asked(fast) === calls.length)]);
    };
    // The choice is random while neither has an open request.
    while (asked(slow) === 0) await send();
    for (let i = 0; i < 200; i++) await send();
    // Envoy draws two endpoints at random. Both are the slow one for a quarter of the requests.
    expect(asked(slow)).toBeLessThan(84);
    gate.open();
    for (const answer of await Promise.all(calls)) expect(answer.status).toBe(200);
  });

  test('go to a server by its name, with the name as its Host', async () => {
    const first = await start({ host: '127.0.0.1' });
    const cluster = await publish([`http://localhost:${first.port}/v1`]);
    expect(await statuses(cluster, 3)).toEqual([200, 200, 200]);
    expect(first.requests('m')[0]?.headers.host).toBe(`localhost:${first.port}`);
  });

  test('reach an endpoint that is added, and none that is removed', async () => {
    const [first, second] = await two();
    await statuses(await publish(urlsOf([first])), 3);
    expect([asked(first), asked(second)]).toEqual([3, 0]);
    await statuses(await publish(urlsOf([first, second])), 30);
    expect(asked(second)).toBeGreaterThan(0);
    const before = asked(first);
    expect(new Set(await statuses(await publish(urlsOf([second])), 5))).toEqual(new Set([200]));
    expect(asked(first)).toBe(before);
  });

  test('over TLS require a certificate for the name of each endpoint, and use HTTP/2', async () => {
    const all = [await start({ tls: certificate, http2: true }), await start({ tls: certificate, http2: true })];
    const [first, second] = all;
    const caPath = join(envoy.paths.dataDir, 'ca.pem');
    await writeFile(caPath, certificate.cert);
    const cluster = await publish(
      [`https://localhost:${first?.port}/v1`, `https://127.0.0.1:${second?.port}/v1`],
      { health_check: { path: '/health', interval: '1s' } },
      caPath,
    );
    // An endpoint gets requests once its first health check has passed.
    await until(async () => {
      expect((await call(envoy, cluster, 'p')).status).toBe(200);
      return all.every((server) => asked(server) > 0);
    });
    expect(first?.requests('m')[0]?.httpVersion).toBe('2.0');
    // The certificate is for localhost and 127.0.0.1.
    const other = await publish([`https://127.0.0.2:${first?.port}/v1`], {}, caPath);
    expect((await call(envoy, other, 'p')).headers['x-gw-local']).toMatch(/UF/);
  });
});

describe('a failure before the head of a response', () => {
  test.each([
    ['a reset', reset],
    ['429', errorAnswer(429, 'busy')],
    ['500', errorAnswer(500, 'broken')],
    ['502', errorAnswer(502, 'bad')],
    ['503', errorAnswer(503, 'overloaded')],
    ['504', errorAnswer(504, 'late')],
  ])('%s: another endpoint serves', async (_, act) => {
    const [bad, good] = await two();
    bad.script('m', act);
    const cluster = await publish(urlsOf([bad, good]));
    expect(new Set(await statuses(cluster, 20))).toEqual(new Set([200]));
    expect(asked(good)).toBe(20);
    expect(asked(bad)).toBeGreaterThan(0);
  });

  test('no connection: another endpoint serves, and the dead one is ejected after a few failures', async () => {
    const [dead, good] = await two();
    await dead.close();
    const cluster = await publish(urlsOf([dead, good]));
    expect(new Set(await statuses(cluster, 30))).toEqual(new Set([200]));
    let hosts = await hostsOf(cluster);
    // It is tried again after some seconds, and ejected again.
    await until(async () => {
      await call(envoy, cluster, 'p');
      hosts = await hostsOf(cluster);
      return hosts.find(({ port }) => port === dead.port)?.isOut === true;
    });
    expect(hosts.find(({ port }) => port === good.port)?.isOut).toBe(false);
    // The alert ProviderEjected uses these metrics.
    const stats = await envoy.admin(`/stats?filter=cluster\\.${cluster}\\.membership_`);
    expect(stats).toMatch(/membership_healthy: 1\n(?:.*\n)*.*membership_total: 2\n/);
  });

  test('resets eject an endpoint if its requests were open together, and not one after the other', async () => {
    const server = await start();
    const cluster = await publish(urlsOf([server]));
    const reason = async () => (await call(envoy, cluster, 'p')).headers['x-gw-local'];
    server.script('m', reset);
    for (let i = 0; i < 10; i++) expect(await reason()).toBe('URX,UC');
    const together = () => Promise.all(Array.from({ length: 12 }, reason));
    await until(async () => (await together()).includes('UH'));
  });

  test('a large body is retried if Envoy is asked to keep it, up to 16 MiB', async () => {
    const [bad, good] = await two();
    bad.script('m', reset);
    const cluster = await publish(urlsOf([bad, good]));
    const send = (bytes: number, more: Readonly<Record<string, string>> = {}) => {
      const body = JSON.stringify({ model: 'm', text: 'x'.repeat(bytes) });
      return callWith(envoy, { cluster, headers: { host: 'p', ...more }, body });
    };
    const keep = { 'x-gw-keep-body': 'true' };
    for (let i = 0; i < 6; i++) expect((await send(16_000_000, keep)).status).toBe(200);
    for (const { body, headers } of good.requests('m')) {
      expect(body.length).toBeGreaterThan(16_000_000);
      expect(headers).not.toHaveProperty('x-gw-keep-body');
    }
    // Each request goes to one of the two at random.
    for (const [bytes, more] of [
      [200_000, {}],
      [18_000_000, keep],
    ] as const) {
      const fails = async () => (await send(bytes, more)).headers['x-gw-local'] === 'UC';
      await until(fails);
      await until(async () => !(await fails()));
    }
  });

  test.each([
    ['400', errorAnswer(400, 'no'), 400, 3],
    ['500', errorAnswer(500, 'no'), 500, 12],
    ['429', errorAnswer(429, 'slow down'), 429, 12],
  ])('%s of every endpoint is passed on as the response', async (_, act, status, calls) => {
    const all = await two();
    for (const server of all) server.script('m', act);
    expect(await statuses(await publish(urlsOf(all)), 3)).toEqual([status, status, status]);
    expect(all.reduce((sum, server) => sum + asked(server), 0)).toBe(calls);
  });

  test('of every endpoint fails the request, and further requests are not sent', async () => {
    const all = await two();
    await Promise.all(all.map((server) => server.close()));
    const cluster = await publish(urlsOf(all));
    expect((await call(envoy, cluster, 'p')).headers['x-gw-local']).toMatch(/UF/);
    await until(async () => (await call(envoy, cluster, 'p')).headers['x-gw-local'] === 'UH');
  });
});

test('a request whose response has begun is not retried', async () => {
  const all = await two();
  for (const server of all) server.script('m', resetAfterBytes(40));
  const cluster = await publish(urlsOf(all));
  await expect(call(envoy, cluster, 'p')).rejects.toThrow();
  expect(all.reduce((sum, server) => sum + asked(server), 0)).toBe(1);
});

test('health checks remove an endpoint and restore it', async () => {
  const [first, second] = await two();
  const cluster = await publish(urlsOf([first, second]), { health_check: { path: '/health?of=me', interval: '1s' } });
  const checks = (server: FakeProvider) => server.requests('').filter(({ path }) => path === '/health?of=me');
  expect(checks(first)[0]?.headers.host).toBe(`127.0.0.1:${first.port}`);
  expect(checks(first)[0]?.headers.authorization).toBeUndefined();
  first.script('', rawAnswer(503, {}, 'loading'));
  await until(async () => (await hostsOf(cluster)).some(({ isOut }) => isOut));
  // The admin interface shows the state of Envoy's main thread, which its workers follow.
  await until(async () => {
    const before = asked(first);
    expect(new Set(await statuses(cluster, 20))).toEqual(new Set([200]));
    return asked(first) === before;
  });
  const before = asked(first);
  first.script('', jsonAnswer());
  await until(async () => (await hostsOf(cluster)).every(({ isOut }) => !isOut));
  await until(async () => {
    await statuses(cluster, 20);
    return asked(first) > before;
  });
  // A health check without a response fails too.
  first.script('', stall);
  second.script('', stall);
  await until(async () => (await call(envoy, cluster, 'p')).headers['x-gw-local'] === 'UH');
});

test('health checks of a provider with one base_url apply at once', async () => {
  const server = await start();
  server.script('', rawAnswer(503, {}, 'loading'));
  const config = await configFrom(
    envoy,
    { p: { base_url: server.baseUrl, health_check: { path: '/health', interval: '1s' } } },
    {},
  );
  expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: true });
  expect((await call(envoy, clusterOf(config, 'p'), 'p')).headers['x-gw-local']).toBe('UH');
  server.script('', jsonAnswer());
  await until(async () => (await call(envoy, clusterOf(config, 'p'), 'p')).status === 200);
});

interface Host {
  readonly port: number;
  readonly isOut: boolean;
}

async function hostsOf(cluster: string): Promise<readonly Host[]> {
  const { cluster_statuses }: Statuses = JSON.parse(await envoy.admin('/clusters?format=json'));
  const found = cluster_statuses.find(({ name }) => name === cluster);
  return (found?.host_statuses ?? []).map(({ address, health_status: health }) => ({
    port: address.socket_address.port_value,
    isOut: (health.failed_outlier_check ?? false) || (health.failed_active_health_check ?? false),
  }));
}

interface Statuses {
  readonly cluster_statuses: readonly {
    readonly name: string;
    readonly host_statuses?: readonly {
      readonly address: { readonly socket_address: { readonly port_value: number } };
      readonly health_status: {
        readonly failed_outlier_check?: boolean;
        readonly failed_active_health_check?: boolean;
      };
    }[];
  }[];
}
