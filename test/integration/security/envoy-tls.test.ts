import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ConnectionOptions, connect, type SecureVersion } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCertificateRenewal } from '#ext-proc/envoy-config/api-certificate.ts';
import { temporaryPaths } from '../../harness/envoy-process.ts';
import { httpClient, type Protocol } from '../../harness/http-client.ts';
import { startFixture, type TransportFixture } from '../../harness/transport-fixture.ts';
import { makeCertificate } from '../../provider/certificate.ts';

/** The public listener with `listen.tls`. */
const first = makeCertificate();
const second = makeCertificate();
const HANDSHAKE = 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE';
let folder: string;
let gateway: TransportFixture;

beforeAll(async () => {
  folder = join((await temporaryPaths()).dataDir, 'tls');
  await mkdir(folder);
  await writeFile(tls().privateKeyPath, first.key, { mode: 0o600 });
  await writeFile(tls().certificatePath, first.cert);
  gateway = await startFixture({
    config: {
      listen: {
        api: { host: '127.0.0.1', port: 0 },
        dashboard: { host: '127.0.0.1', port: 0 },
        metrics: { host: '127.0.0.1', port: 0 },
        perAddress: { connections: 0, openRequests: 0, requestsPerSecond: 0 },
        tls: tls(),
      },
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await rm(dirname(folder), { recursive: true, force: true });
});

test.each<[Protocol, string]>([
  ['http1', 'http/1.1'],
  ['http2', 'h2'],
])('%s is used if ALPN selects it', async (protocol, alpn) => {
  const client = httpClient(`https://localhost:${gateway.port}`, protocol, first.cert);
  const answer = await client.send({ path: '/x', body: 'hello' });
  expect(answer.text).toBe('{"bytes":5}');
  client.close();
  expect(await handshake(first.cert, [alpn])).toBe(alpn);
});

test.each<[SecureVersion, string]>([
  ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLSv1.2', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLSv1.3', 'TLS_AES_128_GCM_SHA256'],
])('%s with %s is accepted', async (version, ciphers) => {
  expect(await handshake(first.cert, ['h2'], { minVersion: version, maxVersion: version, ciphers })).toBe('h2');
});

/** The error must be an alert of the server, and not a refusal of the client. */
test.each<[string, SecureVersion, string, string]>([
  ['TLS 1.0', 'TLSv1', 'ALL', 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
  ['TLS 1.1', 'TLSv1.1', 'ALL', 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
  [
    'a cipher in CBC mode',
    'TLSv1.2',
    'ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-ECDSA-AES128-SHA256',
    HANDSHAKE,
  ],
  ['a key exchange without forward secrecy', 'TLSv1.2', 'AES128-GCM-SHA256:AES128-SHA', HANDSHAKE],
])('%s is refused', async (_, version, ciphers, code) => {
  const old = { minVersion: version, maxVersion: version, ciphers: `${ciphers}:@SECLEVEL=0` };
  await expect(handshake(first.cert, ['h2'], old)).rejects.toMatchObject({ code });
});

test('Envoy reads a pair when it is told to, and is told so of pairs that match', async () => {
  const served = (ca: string) => handshake(ca, ['h2']).catch(() => undefined);
  const renew = createCertificateRenewal(tls(), gateway.paths);
  await renew();
  const { ino } = await stat(join(gateway.paths.envoyDir, 'tls.json'));
  const isTold = async () => (await stat(join(gateway.paths.envoyDir, 'tls.json'))).ino !== ino;
  await writeFile(tls().privateKeyPath, second.key);
  await renew();
  await rm(tls().certificatePath);
  await renew();
  expect(await isTold()).toBe(false);
  await writeFile(tls().certificatePath, second.cert);
  expect(await served(second.cert)).toBeUndefined();
  await renew();
  expect(await isTold()).toBe(true);
  await expect.poll(() => served(second.cert)).toBe('h2');
});

const tls = () => ({ certificatePath: join(folder, 'server.crt'), privateKeyPath: join(folder, 'server.key') });

function handshake(
  ca: string,
  alpn: string[],
  parameters: Pick<ConnectionOptions, 'minVersion' | 'maxVersion' | 'ciphers'> = {},
): Promise<string | false | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        port: gateway.port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca,
        ALPNProtocols: alpn,
        ...parameters,
      },
      () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });
}
