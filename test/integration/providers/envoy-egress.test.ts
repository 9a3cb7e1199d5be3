import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ProviderClient } from '#ext-proc/delivery/provider/provider-client.ts';
import { providerCluster } from '#ext-proc/envoy-config/provider-cluster.ts';
import { type EnvoyProcess, startEnvoy } from '../../harness/envoy-process.ts';

/**
 * Provider calls through Envoy's egress socket: what providers receive, and how Envoy's own
 * responses are recognized.
 */
let provider: Server;
/** A provider that responds before it has read the request, and then reads on. */
let hasty: NetServer;
let envoy: EnvoyProcess;
let seen: IncomingMessage[] = [];

beforeAll(async () => {
  provider = createServer((request, response) => {
    seen.push(request);
    if (request.url === '/reset') {
      request.socket.destroy();
      return;
    }
    response.writeHead(request.url === '/503' ? 503 : 200, {
      'x-gw-local': 'UF',
      'x-envoy-attempt-count': '9',
      'x-own': '1',
    });
    response.write('begun');
    if (request.url === '/cut') setTimeout(() => request.socket.destroy(), 20);
    else response.end();
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const address = provider.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  hasty = createNetServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      socket.write(`HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`),
    );
  });
  await new Promise<void>((resolve) => hasty.listen(0, '127.0.0.1', resolve));
  envoy = await startEnvoy({
    clusters: [
      providerCluster('early', { baseUrl: new URL(`http://127.0.0.1:${(hasty.address() as AddressInfo).port}`) }),
      providerCluster('up', { baseUrl: new URL(`http://127.0.0.1:${port}`) }),
      // No server listens on port 1.
      providerCluster('refused', { baseUrl: new URL('http://127.0.0.1:1') }),
    ],
  });
});
afterAll(async () => {
  await envoy?.stop();
  provider?.closeAllConnections();
  provider?.close();
  hasty?.close();
});

test('a provider receives the request as it was sent, without internal headers', async () => {
  seen = [];
  const answer = await call('up', '/v1/chat/completions?x=1', { authorization: 'Bearer secret' });
  expect(answer.status).toBe(200);
  const { host, connection, ...headers } = seen[0]?.headers ?? {};
  expect(seen[0]?.url).toBe('/v1/chat/completions?x=1');
  expect(host).toBe('provider.example');
  expect(connection).toBeUndefined();
  expect(headers).toEqual({ authorization: 'Bearer secret', 'content-length': '2' });
});

test("a provider's own response has no mark of Envoy, whatever it contains", async () => {
  for (const path of ['/', '/503']) {
    const answer = await call('up', path);
    expect(answer.headers['x-gw-local']).toBeUndefined();
    expect(answer.headers['x-envoy-attempt-count']).toBe('1');
    expect(answer.headers['x-own']).toBe('1');
    expect(answer.headers.server).toBeUndefined();
  }
});

test.each([
  ['an unknown cluster', 'nowhere', '/', 503, /NC/],
  ['a refused connection', 'refused', '/', 503, /UF/],
  ['a reset before the answer', 'up', '/reset', 503, /UC/],
])('%s is marked with its response flags', async (_, cluster, path, status, flags) => {
  const answer = await call(cluster, path);
  expect(answer.status).toBe(status);
  expect(answer.headers['x-gw-local']).toMatch(flags);
});

test('a refused connection is retried; a request that was sent and got no response is not', async () => {
  expect((await call('refused', '/')).headers['x-envoy-attempt-count']).toBe('3');
  seen = [];
  await call('up', '/reset');
  expect(seen.length).toBe(1);
});

test('a reset during a response is passed on at once', async () => {
  const tookMs: number[] = [];
  for (let cut = 0; cut < 5; cut++) {
    const started = performance.now();
    await expect(call('up', '/cut')).rejects.toThrow(/aborted|ECONNRESET/);
    tookMs.push(performance.now() - started);
  }
  // A delay by Envoy would add a second to each reset, a stalling machine only to one of them.
  expect(Math.min(...tookMs)).toBeLessThan(900);
});

test('a response that comes before the request was written completely arrives', async () => {
  const client = new ProviderClient(envoy.paths.egressSocket);
  const headers = ['host', 'provider.example', 'x-gw-cluster', 'early'];
  const refused = async (): Promise<string> => {
    const call = client.call({ path: '/', headers, body: [LARGE], bodyBytes: LARGE.length });
    const answer = await call.head();
    call.release(false);
    return 'status' in answer ? String(answer.status) : answer.result;
  };
  // If Envoy closes the connection at once, one in ten is lost, because it may be closed before the
  // response is read.
  for (let round = 0; round < 40; round++) {
    expect(await Promise.all([refused(), refused(), refused(), refused()])).toEqual(['429', '429', '429', '429']);
  }
  client.close();
});

const LARGE = Buffer.alloc(400_000, ' ');

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

function call(cluster: string, path: string, headers: Record<string, string> = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        socketPath: envoy.paths.egressSocket,
        method: 'POST',
        path,
        headers: { host: 'provider.example', 'x-gw-cluster': cluster, 'content-length': '2', ...headers },
      },
      (response) => {
        response.on('error', reject);
        response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
      },
    );
    outgoing.on('error', reject);
    outgoing.end('{}');
  });
}
