import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { metric } from '../harness/metrics-page.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { type SteadyTraffic, startSteadyTraffic } from '../load/steady-traffic.ts';
import { makeCertificate, type TestCertificate } from '../provider/certificate.ts';

/** Changes the certificate of the public listener while clients connect and disconnect. */
const ROTATIONS = process.env.CI === 'true' ? 20 : 6;
const SERVED_WITHIN_MS = 10_000;
const EXPIRY = 'gateway_certificate_expiry_timestamp_seconds';
/** Clients trust all from the start, as they would those of one CA. Each ends at another time. */
const certificates = Array.from({ length: 2 * ROTATIONS + 8 }, (_, index) =>
  makeCertificate(Date.now() - index * 60_000, `certificate ${index}`),
);

let folder: string;
let traffic: SteadyTraffic;
let next = 0;

const gateway = withGateway(
  () => {
    folder = mkdtempSync(join(tmpdir(), 'gw-tls-'));
    put('server.key', take().key);
    put('server.crt', current().cert);
    return { config: config() };
  },
  { provider: { record: false } },
);
beforeAll(async () => {
  const { key } = await gateway.stack.operator.customer();
  const job = {
    origin: gateway.stack.origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    concurrency: 3,
  };
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
  traffic = startSteadyTraffic(
    [
      { ...job, body: JSON.stringify(body), mustContain: '"finish_reason":"stop"' },
      { ...job, body: JSON.stringify({ ...body, stream: true }), mustContain: 'data: [DONE]' },
    ],
    { requestsPerConnection: 3, ca: certificates.map(({ cert }) => cert).join('') },
  );
});

afterAll(async () => {
  await traffic?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function config(retriesPerTarget = 1): TestConfig {
  return {
    providers: { fake: { base_url: gateway.provider.baseUrl } },
    models: { m: {} },
    timeouts: { first_byte: '20s', stream_idle: '20s', total: '30s' },
    retries: { per_target: retriesPerTarget },
    tls: { certificate: join(folder, 'server.crt'), private_key: join(folder, 'server.key') },
  };
}

function take(): TestCertificate {
  next += 1;
  return current();
}

function current(): TestCertificate {
  const certificate = certificates[next];
  if (certificate === undefined) throw new Error('there are enough certificates');
  return certificate;
}

/** Replaces the file atomically, as an operator should. */
function put(name: string, text: string): void {
  writeFileSync(join(folder, `${name}.new`), text, { mode: 0o600 });
  renameSync(join(folder, `${name}.new`), join(folder, name));
}

/** Fingerprint of the certificate that a new connection gets. */
function served(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: gateway.stack.apiPort, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

const fingerprintOf = ({ cert }: TestCertificate): string => new X509Certificate(cert).fingerprint256;

/** Waits until new connections get the certificate. Resolves with the milliseconds. */
async function untilServed(certificate: TestCertificate): Promise<number> {
  const beganMs = performance.now();
  const wanted = fingerprintOf(certificate);
  while ((await served()) !== wanted) {
    if (performance.now() - beganMs > SERVED_WITHIN_MS) throw new Error('the certificate before is still served');
    await sleep(10);
  }
  return performance.now() - beganMs;
}

/** End of the certificate that is served, as the metric has it. */
async function expectServedExpiry({ cert }: TestCertificate): Promise<void> {
  const seconds = new X509Certificate(cert).validToDate.getTime() / 1000;
  await expect.poll(() => metric(gateway.stack.metricsOrigin, EXPIRY)).toBe(seconds);
}

/** Expects that traffic continues and that no request failed. */
async function expectGoodTraffic(): Promise<void> {
  const before = traffic.good();
  await expect.poll(() => traffic.good()).toBeGreaterThan(before + 10);
  expect(traffic.faults()).toEqual({});
}

test(`${ROTATIONS} certificates, each file replaced by rename: new connections get the new one and no request fails`, {
  timeout: 120_000,
}, async () => {
  for (let rotation = 0; rotation < ROTATIONS; rotation++) {
    const { key, cert } = take();
    put('server.key', key);
    // Between the two renames key and certificate do not match. Every other time this lasts long
    // enough for Envoy to read them.
    if (rotation % 2 === 1) await sleep(300);
    put('server.crt', cert);
    expect(await untilServed(current())).toBeLessThan(SERVED_WITHIN_MS);
  }
  await expectGoodTraffic();
});

test('a key that does not match the certificate is reported and not served, and a matching pair replaces it', async () => {
  const before = current();
  put('server.key', take().key);
  await expect.poll(refused).toBe(1);
  await expect.poll(() => gateway.stack.logs()).toContain('listen.tls.private_key: does not belong to the certificate');
  expect(await served()).toBe(fingerprintOf(before));
  await expectGoodTraffic();
  put('server.crt', current().cert);
  await untilServed(current());
  await expect.poll(refused).toBe(0);
  put('server.crt', 'no certificate');
  await expect.poll(refused).toBe(1);
  expect(await served()).toBe(fingerprintOf(current()));
  await expectServedExpiry(current());
  put('server.crt', current().cert);
  await expect.poll(refused).toBe(0);
  await expectGoodTraffic();
  expect(gateway.stack.logs()).not.toContain('PRIVATE KEY');
});

function refused(): Promise<number> {
  return metric(gateway.stack.metricsOrigin, 'gateway_configuration_refused');
}

test('a configuration that is read while key and certificate differ applies once they match', async () => {
  put('server.key', take().key);
  await expect.poll(refused).toBe(1);
  const applied = await metric(gateway.stack.metricsOrigin, 'gateway_configuration_reads_total', { result: 'applied' });
  gateway.stack.writeConfig(config(0));
  put('server.crt', current().cert);
  await expect
    .poll(() => metric(gateway.stack.metricsOrigin, 'gateway_configuration_reads_total', { result: 'applied' }), {
      timeout: 20_000,
    })
    .toBe(applied + 1);
  expect(await refused()).toBe(0);
  await untilServed(current());
});

test('both files are written in place, as acme.sh and lego do, while the configuration has a fault', async () => {
  gateway.stack.writeConfig({ ...config(), models: { m: {}, 'no model': {} } });
  await expect.poll(refused).toBe(1);
  for (let renewal = 0; renewal < 2; renewal++) {
    const { key, cert } = take();
    writeFileSync(join(folder, 'server.key'), key);
    // The certificate before does not belong to this key.
    await sleep(renewal * 1000);
    writeFileSync(join(folder, 'server.crt'), cert);
    await untilServed(current());
  }
  await expectServedExpiry(current());
  gateway.stack.writeConfig(config());
  await expect.poll(refused).toBe(0);
  await expectGoodTraffic();
});

test('each link is removed and made again, as certbot does', async () => {
  for (let renewal = 0; renewal < 2; renewal++) {
    const { key, cert } = take();
    for (const [name, text] of [
      ['server.key', key],
      ['server.crt', cert],
    ] as const) {
      writeFileSync(join(folder, `${renewal}-${name}`), text);
      rmSync(join(folder, name));
      await sleep(renewal * 1000);
      symlinkSync(`${renewal}-${name}`, join(folder, name));
    }
    await untilServed(current());
  }
  await expectServedExpiry(current());
  await expectGoodTraffic();
});

test('both files are replaced at once by moving a link, as Kubernetes updates a secret', async () => {
  const swap = (version: number, { key, cert }: TestCertificate): void => {
    mkdirSync(join(folder, `..v${version}`));
    writeFileSync(join(folder, `..v${version}`, 'server.key'), key);
    writeFileSync(join(folder, `..v${version}`, 'server.crt'), cert);
    symlinkSync(`..v${version}`, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  swap(1, current());
  for (const name of ['server.key', 'server.crt']) {
    symlinkSync(`..data/${name}`, join(folder, `${name}.new`));
    renameSync(join(folder, `${name}.new`), join(folder, name));
  }
  for (let rotation = 2; rotation < 2 + ROTATIONS; rotation++) {
    swap(rotation, take());
    expect(readFileSync(join(folder, 'server.crt'), 'utf8')).toBe(current().cert);
    await untilServed(current());
  }
  await expectGoodTraffic();
});
