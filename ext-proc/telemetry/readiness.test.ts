import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ListenConfig } from '#core/config/gateway-config.ts';
import { makeCertificate } from '#test/provider/certificate.ts';
import { createReadiness } from './readiness.ts';

let status = 401;
const server = createServer((_request, response) => void response.writeHead(status).end());
let listen: ListenConfig;

beforeEach(async () => {
  status = 401;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const address = { host: '127.0.0.1', port };
  listen = {
    api: address,
    dashboard: address,
    metrics: address,
    perAddress: { connections: 0, openRequests: 0, requestsPerSecond: 0 },
  };
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const nothing = async () => undefined;
const probing = (more: Partial<Parameters<typeof createReadiness>[0]> = {}) =>
  createReadiness({
    ...{ listen, probeKey: 'sk-gw-probe', envoyEnds: () => undefined, completionsRefused: nothing },
    ...more,
  });

it('is ready if its request gets our own refusal of an unknown key', async () => {
  expect(await probing().notReady()).toBeUndefined();
});

it('is not ready if Envoy responds otherwise or not at all', async () => {
  status = 503;
  expect(await probing().notReady()).toContain('503');
  const nobody = { ...listen, api: { host: '127.0.0.1', port: 1 } };
  expect(await probing({ listen: nobody }).notReady()).toContain('failed');
});

it('calls another host if Envoy is in another network', async () => {
  const elsewhere = { ...listen, api: { host: '192.0.2.1', port: listen.api.port } };
  expect(await probing({ listen: elsewhere, envoyHost: '127.0.0.1' }).notReady()).toBeUndefined();
});

it('is not ready while completions are refused, nor once it drains', async () => {
  const refusing = probing({ completionsRefused: async () => 'the limit store does not answer' });
  expect(await refusing.notReady()).toBe('the limit store does not answer');
  const draining = probing();
  draining.drain();
  expect(await draining.notReady()).toBe('draining');
});

it('drains while Envoy does, also when Envoy no longer listens', async () => {
  const nobody = { ...listen, api: { host: '127.0.0.1', port: 1 } };
  const envoyEnds = () => 'draining: Envoy is asked to end';
  expect(await probing({ listen: nobody, envoyEnds }).notReady()).toBe('draining: Envoy is asked to end');
});

it('knows until when the certificate is valid that it was served last', async () => {
  expect(await probing().certificateExpiresAtMs()).toBeUndefined();
  const own = makeCertificate(Date.now() - 60_000);
  const secure = createTlsServer(own, (_request, response) => void response.writeHead(503).end());
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
  const { port } = secure.address() as AddressInfo;
  const tls = { certificatePath: '/none', privateKeyPath: '/none' };
  const readiness = probing({ listen: { ...listen, api: { host: '127.0.0.1', port }, tls } });
  const endsMs = new X509Certificate(own.cert).validToDate.getTime();
  expect(await readiness.certificateExpiresAtMs()).toBe(endsMs);
  await new Promise((resolve) => secure.close(resolve));
  readiness.drain();
  expect(await readiness.certificateExpiresAtMs()).toBe(endsMs);
});

it('recognizes its own probes', () => {
  const readiness = probing();
  expect(readiness.isProbe('Bearer sk-gw-probe')).toBe(true);
  for (const other of ['Bearer sk-gw-other', 'Bearer sk-gw-prob\u00e9', 'Bearer sk-gw-probe2', undefined]) {
    expect(readiness.isProbe(other)).toBe(false);
  }
});
