import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { makeCertificate } from '#test/provider/certificate.ts';
import { configFolder, oneModel } from './load.fixture.ts';
import { currentFingerprint } from './source.ts';
import { findTrustedCa } from './trusted-ca.ts';

const folder = configFolder();
const file = oneModel('[{provider: p, model: x}]', '  p: {base_url: https://p.example}');

async function loadedWith(bundle: string) {
  const env = { SSL_CERT_FILE: join(folder.path, 'ca.pem') };
  await writeFile(env.SSL_CERT_FILE, bundle);
  const { config, warnings, source } = await folder.loaded(file, env);
  const digest = config.providers.get('p')?.trustedCa?.digest;
  return { digest, warnings: warnings.map(({ message }) => message), source };
}

test('a bundle is known by its content', async () => {
  const [one, other] = [makeCertificate().cert, makeCertificate().cert];
  const first = await loadedWith(one);
  expect((await loadedWith(one + other)).digest).not.toBe(first.digest);
  expect((await loadedWith(one)).digest).toBe(first.digest);
});

test('a bundle that is replaced or goes is a change of the configuration', async () => {
  const { source } = await loadedWith(makeCertificate().cert);
  const current = () => currentFingerprint(join(folder.path, 'gateway.yaml'), source);
  expect(await current()).toBe(source.fingerprint);
  await writeFile(join(folder.path, 'ca.pem'), makeCertificate().cert);
  const replaced = await current();
  expect(replaced).not.toBe(source.fingerprint);
  await rm(join(folder.path, 'ca.pem'));
  expect([source.fingerprint, replaced]).not.toContain(await current());
});

test.each([
  ['is garbage', (cert: string) => cert.replace(/M[^-]+/, 'MIIBgarbage\n')],
  ['is cut off', (cert: string) => cert.slice(0, cert.length / 2)],
  ['does not end before the next', (cert: string) => cert.trimEnd() + cert],
  ['is no certificate', (cert: string) => cert.replaceAll('CERTIFICATE', 'X509 CRL')],
])('a bundle with a block that %s stays the former one, with a warning that names the block', async (_, damaged) => {
  const { cert } = makeCertificate();
  const { digest } = await loadedWith(cert);
  expect(await loadedWith(`# comment\n${cert}# another\n\n${damaged(cert)}`)).toMatchObject({
    digest,
    warnings: [
      'providers.p.base_url: the bundle of trusted CAs: its PEM block 2 is not a certificate that can be read; the former one stays in use',
    ],
  });
});

test('a bundle whose certificates have all expired stays the former one, with a warning', async () => {
  const [expired, { cert }] = [makeCertificate(Date.now() - 2 * DAY_MS).cert, makeCertificate()];
  const { digest } = await loadedWith(cert);
  expect(await loadedWith(expired)).toMatchObject({
    digest,
    warnings: [
      'providers.p.base_url: the bundle of trusted CAs: all of its certificates have expired; the former one stays in use',
    ],
  });
  expect((await loadedWith(expired + cert)).warnings).toEqual([]);
});

test('a bundle that is empty for a moment stays the former one, with a warning', async () => {
  const { digest } = await loadedWith(makeCertificate().cert);
  for (const text of ['', 'no certificate']) {
    const held = await loadedWith(text);
    expect(held.digest).toBe(digest);
    expect(held.warnings).toEqual([
      'providers.p.base_url: the bundle of trusted CAs: it holds no PEM certificate; the former one stays in use',
    ]);
  }
  expect((await loadedWith(makeCertificate().cert)).warnings).toEqual([]);
});

test('a bundle of the system that is damaged from the start is named, if no other one can be used', async () => {
  const [damaged, absent] = [join(folder.path, 'damaged.pem'), join(folder.path, 'absent.pem')];
  await writeFile(damaged, 'no certificate');
  const reason = `${damaged}: it holds no PEM certificate`;
  expect(await findTrustedCa({}, [absent, damaged, absent])).toEqual({ ok: false, reason });
  expect(await findTrustedCa({}, [absent])).toEqual({
    ok: false,
    reason: 'no CA certificates found; install ca-certificates or set SSL_CERT_FILE',
  });
});
