import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import type { Provider } from '#core/config/gateway-config.ts';
import { makeCertificate } from '#test/provider/certificate.ts';
import { lookAtProvider } from './provider.ts';

const certificate = makeCertificate();
const servers: Server[] = [];
afterAll(async () => {
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function look(baseUrl: string, pem = certificate.cert, isUsed = true, tokenUrl?: string) {
  const provider: Provider = {
    name: 'p',
    api: 'chat',
    baseUrl: new URL(baseUrl),
    apiKey: 'provider-secret',
    outputLimitField: 'max_tokens',
    trustedCa: { pem, digest: '' },
    ...(tokenUrl === undefined ? {} : { auth: { kind: 'oauth2', tokenUrl: new URL(tokenUrl), scopes: [] } }),
  };
  return lookAtProvider(provider, isUsed);
}

it('a provider with a trusted certificate is fine: reports the expiry, and sends nothing', async () => {
  let received = 0;
  const port = await listen(
    createTlsServer({ cert: certificate.cert, key: certificate.key }, (socket) => {
      socket.on('data', (bytes) => {
        received += bytes.length;
      });
    }),
  );
  expect(await look(`https://localhost:${port}/v1`)).toMatchObject([
    { check: 'provider p', verdict: 'ok', found: expect.stringContaining('its certificate is trusted') },
    { check: 'provider p certificate', verdict: 'warning', found: expect.stringContaining('0 days') },
  ]);
  expect(received).toBe(0);
});

it('a certificate that is untrusted or for another name is a problem', async () => {
  const port = await listen(createTlsServer({ cert: certificate.cert, key: certificate.key }));
  expect(await look(`https://localhost:${port}/v1`, makeCertificate().cert)).toMatchObject([
    { verdict: 'problem', found: expect.stringMatching(/self-signed certificate/) },
  ]);
  expect(await look(`https://127.0.0.2:${port}/v1`)).toMatchObject([{ verdict: 'problem' }]);
});

it('without TLS a connection is enough; none is a problem if a model needs it, otherwise a warning', async () => {
  const server = createServer();
  const port = await listen(server);
  expect(await look(`http://127.0.0.1:${port}/v1`)).toMatchObject([
    { verdict: 'ok', found: expect.stringContaining('without TLS') },
  ]);
  await new Promise((resolve) => servers.pop()?.close(resolve));
  expect(await look(`http://127.0.0.1:${port}/v1`)).toMatchObject([
    { verdict: 'problem', found: expect.stringContaining('ECONNREFUSED'), advice: expect.any(String) },
  ]);
  expect(await look(`http://127.0.0.1:${port}/v1`, certificate.cert, false)).toMatchObject([{ verdict: 'warning' }]);
});

it('checks every endpoint', async () => {
  const port = await listen(createServer());
  const endpoints = [`http://127.0.0.1:${port}/v1`, 'http://nowhere.invalid/v1'].map((url) => new URL(url));
  const [baseUrl = new URL('http://nowhere.invalid')] = endpoints;
  const provider: Provider = { name: 'p', api: 'chat', baseUrl, endpoints, outputLimitField: 'max_tokens' };
  expect(await lookAtProvider(provider, true)).toMatchObject([
    { verdict: 'ok', found: expect.stringContaining(`:${port}`) },
    {
      verdict: 'problem',
      found: expect.stringContaining('nowhere.invalid'),
      advice: expect.stringContaining('endpoints'),
    },
  ]);
});

it('warns of an endpoint picker that accepts connections and hangs or closes them', async () => {
  const [server, picker, hung] = [createServer(), createHttp2Server(), createServer((socket) => void socket.resume())];
  const closes = createServer((socket) => void socket.resume().end());
  const baseUrl = new URL(`http://127.0.0.1:${await listen(server)}/v1`);
  const found = async (port: number) => {
    const endpointPicker = new URL(`http://127.0.0.1:${port}`);
    const fields = { api: 'chat', outputLimitField: 'max_tokens', endpoints: [baseUrl] } as const;
    return (await lookAtProvider({ name: 'p', baseUrl, endpointPicker, ...fields }, true)).at(-1);
  };
  expect(await found(await listen(picker))).toMatchObject({ check: 'provider p picker', verdict: 'ok' });
  expect(await found(await listen(hung))).toMatchObject({
    verdict: 'warning',
    found: expect.stringContaining('no HTTP/2 connection in 5 s'),
    advice: expect.stringContaining('endpoint_picker'),
  });
  expect(await found(await listen(closes))).toMatchObject({
    verdict: 'warning',
    found: expect.stringContaining('it closed the connection'),
  });
});

it('reports a name that does not resolve', async () => {
  expect(await look('https://nowhere.invalid/v1')).toMatchObject([
    { verdict: 'problem', found: expect.stringContaining('nowhere.invalid is not known') },
  ]);
});

it('checks a token endpoint like its provider', async () => {
  const port = await listen(createServer());
  expect(
    await look(`http://127.0.0.1:${port}/v1`, certificate.cert, true, `https://nowhere.invalid/token`),
  ).toMatchObject([
    { check: 'provider p', verdict: 'ok' },
    { check: 'provider p tokens', verdict: 'problem', advice: expect.stringContaining('token_url') },
  ]);
});
