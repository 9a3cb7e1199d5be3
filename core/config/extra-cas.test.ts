import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { makeCertificate } from '#test/provider/certificate.ts';
import { followExtraCas } from './extra-cas.ts';
import { configFolder, oneModel } from './load.fixture.ts';
import { watchConfig } from './reload.ts';

const folder = configFolder();
const ofStart = getCACertificates('default');

afterEach(() => {
  setDefaultCACertificates(ofStart);
  vi.unstubAllEnvs();
});

const fingerprints = () => getCACertificates('default').map((one) => new X509Certificate(one).fingerprint256);
const known = new Set(fingerprints());
const added = () => fingerprints().filter((one) => !known.has(one)).length;

test('certificates are verified with the CAs that the file has now', async () => {
  const path = join(folder.path, 'extra.pem');
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const [former, { cert, key }] = [makeCertificate(undefined, 'former').cert, makeCertificate()];
  const server = createServer({ cert, key }, (_, response) => response.end()).listen(0, '127.0.0.1');
  const call = () => fetch(`https://localhost:${(server.address() as AddressInfo).port}`).then(({ ok }) => ok);
  const look = followExtraCas(path);
  await look();
  await writeFile(path, former);
  await look();
  await expect(call()).rejects.toThrow();
  await writeFile(path, `${former}${cert}`);
  await look();
  expect([await call(), added()]).toEqual([true, 2]);
  await writeFile(path, `${former}${cert.slice(0, 200)}`);
  for (let looks = 0; looks < 2; looks++) await look();
  expect([await call(), added()]).toEqual([true, 2]);
  const problem = 'its PEM block 2 is not a certificate that can be read';
  expect(warned.mock.calls).toEqual([[`The CAs in ${path} are not used: ${problem}`]]);
  await rm(path);
  await look();
  expect(added()).toBe(2);
  server.close();
});

test.each(['--use-openssl-ca', '--use-system-ca'])('CAs that Node has by %s stay in force', async (option) => {
  const { cert, key } = makeCertificate();
  const [trusted = '', extra = '', other = ''] = ['trusted', 'extra', 'other'].map((name) => join(folder.path, name));
  await Promise.all([trusted, extra].map((path) => writeFile(path, cert)));
  await writeFile(other, makeCertificate(undefined, 'other').cert);
  const server = createServer({ cert, key }, (_, response) => response.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const module = new URL('./extra-cas.ts', import.meta.url).href;
  const program = `import { followExtraCas } from ${JSON.stringify(module)}; import { renameSync } from 'node:fs';
    const look = followExtraCas(); renameSync(${JSON.stringify(other)}, ${JSON.stringify(extra)}); await look();
    const { status } = await fetch('https://localhost:${(server.address() as AddressInfo).port}'); console.log(status);`;
  const env = { ...process.env, SSL_CERT_FILE: trusted, NODE_EXTRA_CA_CERTS: extra };
  const flags = [option, '--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { env });
  expect(stdout).toBe('200\n');
  server.close();
});

test('a process that follows its configuration follows its extra CAs', async () => {
  const path = join(folder.path, 'extra.pem');
  await writeFile(path, makeCertificate().cert);
  vi.stubEnv('NODE_EXTRA_CA_CERTS', path);
  const initial = await folder.loaded(oneModel('[{provider: p, model: x}]', '  p: {base_url: http://p.example}'), {});
  const ignore = () => {};
  const apply = async () => ({ ok: true }) as const;
  const config = join(folder.path, 'gateway.yaml');
  const watch = watchConfig({
    path: config,
    load: async () => initial,
    initial,
    apply,
    onProblems: ignore,
    onChange: ignore,
  });
  await expect.poll(added).toBe(1);
  watch.close();
});
