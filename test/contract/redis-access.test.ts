import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { diagnoseRedis } from '#ext-proc/limits/redis/diagnosis.ts';
import { lookAtLimitStore } from '#operator/doctor/limit-store.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { makeCertificate } from '../provider/certificate.ts';
import { limitStoreContract } from './limit-store.contract.ts';
import { LEASE_MS } from './limit-store.fixtures.ts';
import { openEmptyStore, openStore } from './open-redis-store.ts';
import { reasoningStoreContract } from './reasoning-store.contract.ts';
import { emptyNodes, startClusterNodes } from './redis-cluster-nodes.ts';

/**
 * Redis with TLS, a private authority, client certificates, and a user with only the rights of
 * docs/stores.md.
 */
const USER = 'gateway:hush%2Dhush@';

const folder = mkdtempSync(join(tmpdir(), 'gw-redis-tls-'));
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const { key, cert } = makeCertificate();
const certificate = file('server.pem', cert);
const privateKey = file('server.key', key);
const foreign = file('foreign.pem', makeCertificate().cert);
const files = `?sslrootcert=${certificate}&sslcert=${certificate}&sslkey=${privateKey}`;

const tlsSettings = (port: number): string[] => [
  ...['--tls-port', String(port), '--tls-cert-file', certificate, '--tls-key-file', privateKey],
  ...['--tls-ca-cert-file', certificate, '--tls-auth-clients', 'yes'],
];

const docs = readFileSync(resolve(import.meta.dirname, '../../docs/stores.md'), 'utf8');
const rights = (/^ACL SETUSER gateway (.*)$/m.exec(docs)?.[1] ?? '').replace('PASSWORD', 'hush-hush').split(' ');
const clusterRights = (/^A cluster also needs `(.*?)`/m.exec(docs)?.[1] ?? '').split(' ');

async function setUser({ admin }: TestRedis, words: readonly string[]): Promise<void> {
  await admin.call('ACL', 'SETUSER', 'gateway', 'reset', ...words);
}

/** Parameters of a URL with a new client certificate. Redis trusts this and the server's. */
async function renewClient(name: string, nodes: readonly TestRedis[]): Promise<string> {
  const client = makeCertificate(Date.now(), name);
  const sslkey = file('client.key', client.key);
  // Redis is away just now, and key and certificate do not match.
  await disconnectClients(nodes);
  await sleep(300);
  const sslcert = file('client.pem', client.cert);
  const trusted = file(`trusted-${name}.pem`, cert + client.cert);
  for (const { admin } of nodes) await admin.config('SET', 'tls-ca-cert-file', trusted);
  await disconnectClients(nodes);
  return `?sslrootcert=${certificate}&sslcert=${sslcert}&sslkey=${sslkey}`;
}

async function disconnectClients(nodes: readonly TestRedis[]): Promise<void> {
  for (const { admin } of nodes) await admin.call('CLIENT', 'KILL', 'USER', 'gateway');
}

/** Serves again after the client certificate was renewed while the store is open. */
async function expectRenewal(url: string, nodes: readonly TestRedis[]): Promise<void> {
  const store = await openStore(`${url}${await renewClient('one', nodes)}`, { leaseMs: LEASE_MS });
  await renewClient('two', nodes);
  const allowed = () => store.takeRead('key-renewed', 1000, 0).catch((error: Error) => error.message);
  await expect.poll(allowed).toEqual({ allowed: true });
  await store.close();
}

/** Why a gateway process would not start with this URL. */
async function problemWith(url: string): Promise<string> {
  const opened = await openStore(url, { leaseMs: LEASE_MS }).catch((error: Error) => error);
  if (opened instanceof Error) return `${opened.name}: ${opened.message}`;
  await opened.close();
  return 'none';
}

requirement(missingRedis, () => {
  let redis: TestRedis;
  let tlsPort = 0;
  beforeAll(async () => {
    [tlsPort = 0] = await freePorts(1);
    redis = await startTestRedis({ settings: [...tlsSettings(tlsPort), '--bind', '127.0.0.1', '127.0.0.2'] });
    await setUser(redis, rights);
  });
  afterAll(async () => {
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const secureUrl = () => `rediss://${USER}localhost:${tlsPort}${files}`;

  limitStoreContract('Redis over TLS, for a user of least rights,', (options) =>
    openEmptyStore({ url: secureUrl(), empty: () => redis.empty() }, options),
  );

  reasoningStoreContract('Redis over TLS, for a user of least rights,', async (settings) => {
    const store = await openEmptyStore({ url: secureUrl(), empty: () => redis.empty() }, { leaseMs: LEASE_MS });
    const reasoning = store.keepReasoning(settings);
    const close = () => {
      reasoning.close();
      void store.close();
    };
    return { ...reasoning, close };
  });

  describe('access to Redis', () => {
    const advice = async (url: string): Promise<string> => {
      const [finding] = await lookAtLimitStore({ kind: 'url', url });
      expect(finding?.verdict).toBe('problem');
      expect(JSON.stringify(finding)).not.toContain('hush');
      return finding?.advice ?? '';
    };

    test('TLS problems are named: an unknown authority, another host, no client certificate, no such file', async () => {
      const at = (host: string, query: string) => `rediss://${USER}${host}:${tlsPort}${query}`;
      const client = `sslcert=${certificate}&sslkey=${privateKey}`;
      for (const [url, why] of [
        [at('localhost', `?${client}`), /^StoreUnavailable: Redis: .*self-signed/],
        [at('localhost', `?sslrootcert=${foreign}&${client}`), /^StoreUnavailable: Redis: .*self-signed/],
        [at('127.0.0.2', files), /^StoreUnavailable: Redis: .*altnames/],
        [
          at('localhost', `?sslrootcert=${certificate}`),
          /^StoreUnavailable: Redis: .*(asks for a certificate|ECONNRESET)/i,
        ],
      ] as const) {
        expect(await problemWith(url)).toMatch(why);
        expect(await advice(url)).toContain('sslrootcert');
      }
      const missing = at('localhost', `?sslrootcert=${folder}/none.pem`);
      expect(await problemWith(missing)).toMatch(
        /^RedisRefused: a file that the Redis URL names cannot be read: ENOENT/,
      );
    });

    test('a client certificate is read for each connection, since the one of the start expires', async () => {
      await expectRenewal(`rediss://${USER}localhost:${tlsPort}`, [redis]);
    });

    test('a wrong password and an unknown user are named', async () => {
      for (const user of ['gateway:wrong@', 'nobody:hush-hush@']) {
        const url = `redis://${user}127.0.0.1:${redis.port}`;
        expect(await problemWith(url)).toMatch(/^StoreUnavailable: Redis: WRONGPASS/);
        expect(await advice(url)).toContain('password');
      }
    });

    test('every documented right is needed: without it a process refuses to start, and the doctor says why', async () => {
      // ioredis warns on the console if INFO is refused.
      const said = vi.spyOn(console, 'warn').mockImplementation(() => {});
      const url = `redis://${USER}127.0.0.1:${redis.port}`;
      expect(await problemWith(url)).toBe('none');
      const needed = rights.filter((word) => word.startsWith('+') || word.startsWith('~'));
      expect(needed.length).toBeGreaterThan(15);
      for (const word of needed) {
        await setUser(
          redis,
          rights.filter((other) => other !== word),
        );
        const command = word.startsWith('+') ? word.slice(1) : 'HSET';
        expect(await problemWith(url)).toMatch(new RegExp(`\\b${command}\\b`, 'i'));
        expect(await advice(url)).toContain('docs/stores.md');
      }
      await setUser(redis, rights);
      said.mockRestore();
    });

    test('revoking a right while processes run is an outage until it is granted again', async () => {
      const store = await openStore(`redis://${USER}127.0.0.1:${redis.port}`, { leaseMs: LEASE_MS });
      await setUser(
        redis,
        rights.filter((word) => word !== '+hset'),
      );
      // A changed user keeps its connections. The next script fails.
      await expect(store.takeRead('key-1', 5, 0)).rejects.toThrow(/^Redis: .*hset|^Redis: .*run this command/i);
      await expect(store.takeRead('key-1', 5, 0)).rejects.toHaveProperty('name', 'StoreUnavailable');
      await setUser(redis, rights);
      expect(await store.takeRead('key-1', 5, 0)).toEqual({ allowed: true });
      await store.close();
    });
  });

  describe('a cluster with TLS, for a user of least rights', () => {
    let nodes: TestRedis[] = [];
    let ports: number[] = [];
    beforeAll(async () => {
      ports = await freePorts(2);
      nodes = await startClusterNodes({
        settings: (index) => [...tlsSettings(ports[index] ?? 0), '--tls-cluster', 'yes'],
        meetPort: ports[1] ?? 0,
      });
      for (const node of nodes) await setUser(node, [...rights, ...clusterRights]);
    });
    afterAll(() => Promise.all(nodes.map((node) => node.stop())));

    test('serves every organization, and has no problems for the doctor', async () => {
      const url = `rediss://${USER}127.0.0.1:${ports[0]}${files}`;
      const store = await openEmptyStore({ url, empty: () => emptyNodes(nodes) }, { leaseMs: LEASE_MS });
      for (let n = 0; n < 20; n++) expect(await store.takeRead(`key-${n}`, 5, 0)).toEqual({ allowed: true });
      await store.close();
      for (const { admin } of nodes) expect((await admin.keys('*:reads:*')).length).toBeGreaterThan(0);
      const well = { mode: 'cluster', clusterState: 'ok' };
      expect(await diagnoseRedis(url)).toMatchObject({ found: [well, well], failed: [] });
    });

    test('reads client certificates for each connection', async () => {
      await expectRenewal(`rediss://${USER}127.0.0.1:${ports[0]}`, nodes);
    });

    test('does not serve without the rights for clusters', async () => {
      for (const node of nodes) await setUser(node, rights);
      expect(await problemWith(`rediss://${USER}127.0.0.1:${ports[0]}${files}`)).toMatch(/^StoreUnavailable: Redis:/);
    });
  });
});
