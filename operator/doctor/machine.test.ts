import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { charge, openLog } from '#ext-proc/billing/charge-log/charge-log.fixture.ts';
import { makeCertificate } from '#test/provider/certificate.ts';
import { expiryFinding, lookAtCertificate } from './certificate.ts';
import type { Finding } from './check.ts';
import { lookAtDisk } from './disk.ts';
import { lookAtReadiness } from './readiness.ts';
import { lookAtSecrets } from './secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const verdicts = (findings: readonly Finding[]) => findings.map(({ check, verdict }) => `${check} ${verdict}`);

function put(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  // The mode of `writeFile` goes through the umask, and only counts for new files.
  chmodSync(path, mode);
  return path;
}

it('reports secrets that others can read or change, each with the command to fix it', async () => {
  const paths = { dataDir: join(folder, 'data'), socketDir: join(folder, 'data/run'), probeKey: join(folder, 'none') };
  mkdirSync(paths.socketDir, { recursive: true, mode: 0o700 });
  chmodSync(paths.dataDir, 0o700);
  const configPath = put('gateway.yaml', '', 0o644);
  const key = put('key', 'secret', 0o640);
  // Everybody who connects is shown it.
  const certificatePath = put('certificate', 'public', 0o644);
  const places = { configPath, files: [key, certificatePath], certificatePath, paths };
  expect(verdicts(await lookAtSecrets(places))).toEqual(['secrets ok']);
  chmodSync(key, 0o644);
  chmodSync(paths.socketDir, 0o755);
  expect((await lookAtSecrets(places)).map(({ verdict, advice }) => [verdict, advice])).toEqual([
    ['warning', `chmod o-rwx ${key}`],
    ['warning', `chmod o-rwx ${paths.socketDir}`],
  ]);
  chmodSync(certificatePath, 0o646);
  expect((await lookAtSecrets(places))[0]).toMatchObject({
    verdict: 'problem',
    advice: `chmod o-rwx ${certificatePath}`,
  });
  chmodSync(configPath, 0o646);
  expect((await lookAtSecrets(places))[0]).toMatchObject({ verdict: 'problem', advice: `chmod o-rwx ${configPath}` });
});

it('checks the disk of the charge log, even behind a symbolic link', async () => {
  const dataDir = join(folder, 'pod');
  mkdirSync(join(dataDir, 'spool'), { recursive: true });
  const paths = { ...runtimePaths({ GATEWAY_DATA: dataDir }), postgresDir: '/proc' };
  const found = (await lookAtDisk(paths)).map((finding) => finding.found);
  expect(found).toEqual([
    expect.stringContaining(`free at ${join(dataDir, 'spool')}`),
    expect.stringContaining('free at /proc'),
    'no charge of a process that has ended waits',
  ]);
});

it('reports charges that wait in the log of a process that has ended', async () => {
  const dataDir = join(folder, 'logging');
  const log = await openLog(join(dataDir, 'spool'));
  const [space, empty] = await lookAtDisk(runtimePaths({ GATEWAY_DATA: dataDir }));
  expect(space).toMatchObject({ check: 'disk', found: expect.stringMatching(/ GiB of [\d.]+ GiB are free at /) });
  expect(empty?.verdict).toBe('ok');
  await log.append(charge('gen-1'));
  expect((await lookAtDisk(runtimePaths({ GATEWAY_DATA: dataDir })))[1]).toMatchObject({
    verdict: 'problem',
    found: expect.stringMatching(/^1 charge waits/),
  });
  log.committed(['gen-1'], 'epoch');
  await log.close();
  put('logging/spool/log-1.1.jsonl.damaged-2026-11-22T10-00-00.000Z', 'null\n');
  expect((await lookAtDisk(runtimePaths({ GATEWAY_DATA: dataDir }))).slice(1)).toMatchObject([
    { verdict: 'ok' },
    { verdict: 'problem', found: expect.stringContaining('log-1.1.jsonl.damaged-2026') },
  ]);
  expect(verdicts(await lookAtDisk(runtimePaths({ GATEWAY_DATA: join(folder, 'nowhere') })))).toEqual(['disk skipped']);
});

const NOW_MS = Date.UTC(2026, 10, 21);

it.each([
  [-1, 'problem'],
  [0, 'warning'],
  [13, 'warning'],
  [14, 'ok'],
])('a certificate that ends in %i days: %s', (days, verdict) => {
  expect(expiryFinding('certificate', new Date(NOW_MS + days * 86_400_000), NOW_MS).verdict).toBe(verdict);
});

it('compares the certificate in the files, its key and the served one', async () => {
  const [first, second] = [makeCertificate(), makeCertificate()];
  const tls = { certificatePath: put('crt', first.cert), privateKeyPath: put('crt-key', first.key) };
  const server = createTlsServer({ cert: second.cert, key: second.key });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  const listen = {
    api: address,
    dashboard: address,
    metrics: address,
    tls,
    perAddress: { connections: 0, openRequests: 0, requestsPerSecond: 0 },
  };
  expect(verdicts(await lookAtCertificate(listen))).toEqual(['certificate warning', 'certificate served problem']);
  server.setSecureContext({ cert: first.cert, key: first.key });
  expect(verdicts(await lookAtCertificate(listen))).toEqual(['certificate warning', 'certificate served ok']);
  await new Promise((resolve) => server.close(resolve));
  expect(verdicts(await lookAtCertificate(listen))).toEqual(['certificate warning', 'certificate served skipped']);
  put('crt-key', second.key);
  expect(await lookAtCertificate(listen)).toMatchObject([
    { verdict: 'problem', found: 'listen.tls.private_key does not belong to the certificate' },
  ]);
  const later = makeCertificate(Date.now() + 7_200_000);
  put('crt', later.cert);
  put('crt-key', later.key);
  expect((await lookAtCertificate(listen))[0]).toMatchObject({
    verdict: 'problem',
    found: expect.stringMatching(/^valid only from/),
  });
});

it('reports the readiness of the gateway, or that nothing responds', async () => {
  let status = 200;
  let body = 'Envoy is away\n';
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  expect(verdicts(await lookAtReadiness(address))).toEqual(['readiness ok']);
  status = 503;
  expect(await lookAtReadiness(address)).toMatchObject([{ verdict: 'problem', found: 'Envoy is away' }]);
  body = 'draining\n';
  expect(await lookAtReadiness(address)).toMatchObject([{ verdict: 'ok', found: 'draining' }]);
  await new Promise((resolve) => server.close(resolve));
  expect((await lookAtReadiness(address))[0]?.found).toContain('ECONNREFUSED');
  expect((await lookAtReadiness({ ...address, host: '::1' }))[0]?.found).toMatch(/^\[::1\]:\d+ does not answer/);
});
