import { hash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { ClusterPublisher } from '#ext-proc/envoy-config/publish.ts';
import { call, clusterOf, configFrom, configOf, type EgressAnswer, until } from '../../harness/cluster-fixture.ts';
import { eachProvider } from '../../harness/each-provider.ts';
import { startEnvoy } from '../../harness/envoy-process.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { opened } from '../../harness/opened.ts';
import { freePorts } from '../../launchers/free-ports.ts';
import { errorAnswer, reset } from '../../provider/acts.ts';
import { makeCertificate } from '../../provider/certificate.ts';
import { startTokenServer } from '../../provider/token-server.ts';

/**
 * How a real Envoy connects to providers with clusters from the configuration: TLS, HTTP versions,
 * names, failures. `URX,UF` means no connection after all retries, `UH` no healthy host.
 */

const envoy = opened(startEnvoy);
const publisher = opened(async () => new ClusterPublisher({ paths: envoy.paths, onFault: () => {}, drainMarginMs: 0 }));
let caPath: string;
const certificate = makeCertificate();
const provider = eachProvider();

beforeAll(async () => {
  caPath = join(envoy.paths.dataDir, 'ca.pem');
  await writeFile(caPath, certificate.cert);
});
showLogsOnFailure(() => envoy && { logs: envoy.log });

/** Publishes a provider at the URL and calls it. */
async function callAt(url: string, trusted = caPath): Promise<EgressAnswer> {
  const config = await configOf(envoy, { p: url }, trusted);
  expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: true });
  return call(envoy, clusterOf(config, 'p'), new URL(url).host);
}

describe('over TLS', () => {
  test.each([
    ['HTTP/2 where the provider offers it', { http2: true }, '2.0', 'localhost'],
    ['HTTP/1.1 where it does not', {}, '1.1', 'localhost'],
    ['an address as host', {}, '1.1', '127.0.0.1'],
  ])('%s', async (_name, options, version, host) => {
    const server = await provider({ tls: certificate, ...options });
    expect((await callAt(`https://${host}:${server.port}/v1`)).status).toBe(200);
    const [seen] = server.requests();
    expect(seen?.httpVersion).toBe(version);
    expect(seen?.headers.host ?? seen?.headers[':authority']).toBe(`${host}:${server.port}`);
  });

  test('a certificate of a CA that is not trusted is a failed connection', async () => {
    const server = await provider({ tls: certificate });
    const other = join(envoy.paths.dataDir, 'other-ca.pem');
    await writeFile(other, makeCertificate().cert);
    expect(await callAt(`https://localhost:${server.port}/v1`, other)).toMatchObject({
      status: 503,
      headers: { 'x-gw-local': 'URX,UF' },
    });
    expect(server.requests()).toEqual([]);
    await rm(other);
  });

  test('a bundle that gets another CA, or loses one, counts for new connections at once', async () => {
    const moved = makeCertificate(Date.now(), 'new root');
    const server = await provider({ tls: moved });
    const bundle = join(envoy.paths.dataDir, 'renewed-ca.pem');
    const statusWith = async (text: string) => {
      await writeFile(bundle, text);
      return (await callAt(`https://localhost:${server.port}/v1`, bundle)).status;
    };
    expect(await statusWith(certificate.cert)).toBe(503);
    expect(await statusWith(certificate.cert + moved.cert)).toBe(200);
    expect(await statusWith('')).toBe(200);
    expect(await statusWith(certificate.cert)).toBe(503);
    await rm(bundle);
  });

  test('a bundle that is damaged or missing stays the former one, and blocks no other change', async () => {
    const server = await provider({ tls: certificate });
    const bundle = join(envoy.paths.dataDir, 'damaged-ca.pem');
    const [url, damaged] = [`https://localhost:${server.port}/v1`, certificate.cert.replace(/M[^-]+/, 'MIIB\n')];
    await writeFile(bundle, certificate.cert);
    expect((await callAt(url, bundle)).status).toBe(200);
    for (const [index, text] of [certificate.cert + damaged, ''].entries()) {
      await writeFile(bundle, text);
      const config = await configOf(envoy, { p: url, q: `http://127.0.0.1:${index + 1}/v1` }, bundle);
      expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: true });
    }
    await rm(bundle);
    const config = await configOf(envoy, { p: url, added: url }, bundle);
    expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: true });
    expect((await call(envoy, clusterOf(config, 'added'), 'localhost')).status).toBe(200);
  });

  test('a cluster has the bundle that was read, in a file that goes with the last cluster of it', async () => {
    const server = await provider({ tls: certificate });
    const bundle = join(envoy.paths.dataDir, 'moving-ca.pem');
    const [read, other] = [`${certificate.cert}# read\n`, makeCertificate().cert];
    const configWith = async (text: string) => {
      await writeFile(bundle, text);
      return configOf(envoy, { p: `https://localhost:${server.port}/v1` }, bundle);
    };
    const config = await configWith(read);
    await writeFile(bundle, other);
    await publisher.publish(config);
    expect((await call(envoy, clusterOf(config, 'p'), 'localhost')).status).toBe(200);
    await publisher.publish(await configWith(other));
    const folder = join(envoy.paths.envoyDir, 'trusted-ca');
    await until(async () => (await readdir(folder)).join() === `${hash('sha256', other)}.pem`);
    expect(await readFile(join(folder, `${hash('sha256', other)}.pem`), 'utf8')).toBe(other);
  });

  test('a certificate for another name is a failed connection', async () => {
    const server = await provider({ tls: certificate });
    expect(await callAt(`https://127.0.0.2:${server.port}/v1`)).toMatchObject({
      status: 503,
      headers: { 'x-gw-local': 'URX,UF' },
    });
    expect(server.requests()).toEqual([]);
  });
});

test.each([
  ['of a CA that is trusted', true, 'localhost', 200],
  ['of another CA', false, 'localhost', 401],
  ['for another name', true, '127.0.0.2', 401],
])('a token endpoint with a certificate %s', async (_, trusted, host, status) => {
  const [server, tokens] = [await provider(), await startTokenServer(certificate)];
  const ca = join(envoy.paths.dataDir, 'tokens-ca.pem');
  await writeFile(ca, trusted ? certificate.cert : makeCertificate().cert);
  const oauth2 = { token_url: tokens.url('t', host), client_id: 'me', client_secret: 'secret' };
  const entry = { base_url: server.baseUrl, auth: { oauth2 } };
  const config = await configFrom(envoy, { p: entry }, { caPath: ca });
  expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: true });
  expect((await call(envoy, clusterOf(config, 'p'), 'p')).status).toBe(status);
  expect(tokens.requests('t')).toHaveLength(trusted && host === 'localhost' ? 1 : 0);
  expect(server.requests().map(({ headers }) => headers.authorization)).toEqual(status === 200 ? ['Bearer t-1'] : []);
  await tokens.close();
});

test('over plain HTTP by name, whichever address family the provider listens on', async () => {
  const server = await provider();
  expect((await callAt(`http://localhost:${server.port}/v1`)).status).toBe(200);
});

test('a name that does not resolve is reported as no healthy host, and delays nothing', async () => {
  const startMs = performance.now();
  expect(await callAt('http://nowhere.invalid/v1')).toMatchObject({ status: 503, headers: { 'x-gw-local': 'UH' } });
  expect(performance.now() - startMs).toBeLessThan(30_000);
});

describe('a provider that refuses connections', () => {
  test('on the loopback is tried every time, and serves as soon as it is up', async () => {
    const [port = 0] = await freePorts(1);
    const config = await configOf(envoy, { p: `http://127.0.0.1:${port}/v1` });
    await publisher.publish(config);
    for (let i = 0; i < 30; i++) {
      expect(await call(envoy, clusterOf(config, 'p'), 'p')).toMatchObject({
        status: 503,
        headers: { 'x-gw-local': 'URX,UF' },
      });
    }
    await provider({ port });
    expect((await call(envoy, clusterOf(config, 'p'), 'p')).status).toBe(200);
  });

  test('elsewhere is ejected after 20 failures, and tried again within seconds', async () => {
    // Linux connects 0.0.0.0 to this machine, although it is not a loopback address. It stands for
    // a provider elsewhere.
    const [port = 0] = await freePorts(1);
    const config = await configOf(envoy, { p: `http://0.0.0.0:${port}/v1` });
    await publisher.publish(config);
    const results = new Set<unknown>();
    await until(async () => {
      const answer = await call(envoy, clusterOf(config, 'p'), 'p');
      results.add(answer.headers['x-gw-local']);
      return answer.headers['x-gw-local'] === 'UH';
    });
    expect([...results]).toEqual(['URX,UF', 'UH']);
    await provider({ port });
    await until(async () => (await call(envoy, clusterOf(config, 'p'), 'p')).status === 200);
  });
});

test.each([
  ['responses of 503', errorAnswer(503, 'overloaded'), '503 own'],
  ['resets', reset, '503 UC'],
])('a provider elsewhere is ejected after 20 %s in a row, but not after 500 or 429', async (_name, act, failure) => {
  const server = await provider();
  const config = await configOf(envoy, { p: `http://0.0.0.0:${server.port}/v1` });
  await publisher.publish(config);
  const statuses = async (count: number) => {
    const seen: string[] = [];
    for (let i = 0; i < count; i++) {
      const answer = await call(envoy, clusterOf(config, 'p'), 'p');
      seen.push(`${answer.status} ${answer.headers['x-gw-local'] ?? 'own'}`);
    }
    return seen;
  };
  server.script('m', errorAnswer(500, 'no'));
  expect(new Set(await statuses(25))).toEqual(new Set(['500 own']));
  server.script('m', errorAnswer(429, 'slow down'));
  expect(new Set(await statuses(25))).toEqual(new Set(['429 own']));
  server.script('m', act);
  expect(new Set(await statuses(20))).toEqual(new Set([failure]));
  // Envoy's main thread notifies its workers. On a busy machine this takes a few more requests, but
  // far fewer than another 20.
  let seen: string[] = [];
  for (let i = 0; i < 15 && seen.at(-1) !== '503 UH'; i++) {
    await sleep(i * 20);
    seen = await statuses(1);
  }
  expect(seen).toEqual(['503 UH']);
});
