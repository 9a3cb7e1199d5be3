import { chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { lookAtDatabase } from '#operator/doctor/database.ts';
import { addCustomer, openStore, settlementOf, sql } from '../harness/database.ts';
import { startTestPostgres, type TestPostgres } from '../harness/postgres-server.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { makeCertificate } from '../provider/certificate.ts';
import { newMarksPath } from './marks-path.ts';

/** PostgreSQL as on another machine, with a private authority and users with passwords. */
const folder = mkdtempSync(join(tmpdir(), 'gw-postgres-tls-'));
const { key, cert } = makeCertificate();
const authority = join(folder, 'ca.pem');
const foreign = join(folder, 'foreign.pem');
writeFileSync(authority, cert);
writeFileSync(foreign, makeCertificate().cert);

let postgres: TestPostgres;
let port = 0;
beforeAll(async () => {
  [port = 0] = await freePorts(1);
  postgres = await startTestPostgres({
    fsync: 'off',
    listen_addresses: '127.0.0.1,127.0.0.2',
    port: String(port),
  });
  const dataFolder = join(postgres.socketDir, '../postgres');
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    const path = join(dataFolder, name);
    writeFileSync(path, text, { mode: 0o600 });
    const { uid, gid } = statSync(dataFolder);
    chownSync(path, uid, gid);
  }
  const access = join(dataFolder, 'pg_hba.conf');
  // The folder of its socket depends on its user, so its owner connects over TCP too.
  const rules = [
    'hostnossl all gateway 127.0.0.1/32 trust',
    'hostssl all app all scram-sha-256',
    'hostnossl all app all reject',
  ];
  writeFileSync(access, [...rules, readFileSync(access, 'utf8')].join('\n'));
  process.kill(postgres.pid, 'SIGHUP');
  const admin = `postgres://gateway@127.0.0.1:${port}/postgres?sslmode=disable`;
  await vi.waitFor(() => sql(admin, 'select 1'), { timeout: 30_000 });
  await sql(admin, "create role app login superuser password 'hush-hush'");
  await sql(admin, 'alter system set ssl = on');
  await sql(admin, 'select pg_reload_conf()');
  await vi.waitFor(async () => expect(await sql(admin, 'show ssl')).toEqual([{ ssl: 'on' }]), { timeout: 30_000 });
});
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const url = (host: string, query: string, password = 'hush-hush') =>
  `postgres://app:${password}@${host}:${port}/postgres?${query}`;
const verified = `sslmode=verify-full&sslrootcert=${encodeURIComponent(authority)}`;

test('with sslmode=verify-full and sslrootcert every connection is encrypted, and charges work', async () => {
  const store = await openStore(url('localhost', verified));
  const customer = await addCustomer(store);
  await store.ledger.charge(settlementOf(customer));
  expect((await store.memoryModeLock(newMarksPath(), () => {})).kind).toBe('held');
  const used = await sql<{ ssl: boolean }>(
    url('localhost', verified),
    "select distinct s.ssl from pg_stat_ssl s join pg_stat_activity a using (pid) where a.application_name like 'inference-gateway%'",
  );
  expect(used).toEqual([{ ssl: true }]);
  await store.close();
});

describe('the doctor reports why it cannot connect', () => {
  test.each([
    [
      'another authority',
      () => url('localhost', `sslmode=verify-full&sslrootcert=${foreign}`),
      /self-signed/,
      'sslrootcert',
    ],
    ['no authority', () => url('localhost', 'sslmode=verify-full'), /self-signed/, 'sslrootcert'],
    ['a host that the certificate does not name', () => url('127.0.0.2', verified), /altnames/, "host's name"],
    ['a wrong password', () => url('localhost', verified, 'hash-hash'), /password authentication failed/, 'password'],
    [
      'no encryption where it is required',
      () => url('localhost', 'sslmode=disable'),
      /pg_hba.conf rejects .*no encryption/,
      'pg_hba',
    ],
  ])('%s', async (_what, at, found, advice) => {
    const { findings } = await lookAtDatabase({ url: at(), where: 'there' });
    expect(findings).toMatchObject([
      { verdict: 'problem', found: expect.stringMatching(found), advice: expect.stringContaining(advice) },
    ]);
    expect(JSON.stringify(findings)).not.toMatch(/hush-hush|hash-hash/);
  });
});

test('pools have the configured sizes', async () => {
  const store = await openStore(url('localhost', verified), { pool: { idempotency: 7, administration: 3 } });
  expect(store.pools().map(({ pool, limit }) => [pool, limit])).toEqual([
    ['requests', 4],
    ['others', 3],
    ['idempotency', 7],
  ]);
  await store.close();
});
