import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCertificate } from '../provider/certificate.ts';
import { temporaryPaths } from './envoy-process.ts';
import { httpClient, type Protocol } from './http-client.ts';
import { startFixture, type TransportFixture } from './transport-fixture.ts';

/** The public listener with `listen.tls`. */
const first = makeCertificate();
const second = makeCertificate();
let folder: string;
let gateway: TransportFixture;

beforeAll(async () => {
  folder = join((await temporaryPaths()).dataDir, 'tls');
  await mkdir(folder);
  await put(first);
  gateway = await startFixture({
    config: {
      listen: {
        api: { host: '127.0.0.1', port: 0 },
        dashboard: { host: '127.0.0.1', port: 0 },
        metrics: { host: '127.0.0.1', port: 0 },
        tls: { certificatePath: join(folder, 'server.crt'), privateKeyPath: join(folder, 'server.key') },
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
])('%s is spoken where ALPN says so', async (protocol, alpn) => {
  const client = httpClient(`https://localhost:${gateway.port}`, protocol, first.cert);
  const answer = await client.send({ path: '/x', body: 'hello' });
  expect(answer.text).toBe('{"bytes":5}');
  client.close();
  expect(await handshake(first.cert, [alpn])).toBe(alpn);
});

test('TLS 1.1 is refused', async () => {
  await expect(handshake(first.cert, ['h2'], 'TLSv1.1')).rejects.toThrow();
});

test('a certificate that is replaced by rename is served without a restart', async () => {
  await expect(handshake(second.cert, ['h2'])).rejects.toThrow();
  await put(second);
  const deadlineMs = performance.now() + 5_000;
  for (;;) {
    const alpn = await handshake(second.cert, ['h2']).catch(() => undefined);
    if (alpn === 'h2') return;
    if (performance.now() > deadlineMs) throw new Error('the old certificate is still served');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

async function put(certificate: { key: string; cert: string }): Promise<void> {
  for (const [name, text] of [
    ['server.key', certificate.key],
    ['server.crt', certificate.cert],
  ] as const) {
    await writeFile(join(folder, `${name}.new`), text, { mode: 0o600 });
    await rename(join(folder, `${name}.new`), join(folder, name));
  }
}

function handshake(
  ca: string,
  alpn: string[],
  maxVersion: 'TLSv1.1' | 'TLSv1.3' = 'TLSv1.3',
): Promise<string | false | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        port: gateway.port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca,
        ALPNProtocols: alpn,
        maxVersion,
        minVersion: 'TLSv1',
      },
      () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });
}
