import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { residentBytes } from '../../harness/process-cpu.ts';
import { withGateway } from '../../harness/with-gateway.ts';

let client: GatewayClient;
let key: string;

const gateway = withGateway({
  config: {
    models: { wide: { context_window: 50_000_000, usd_per_million_tokens: { input: 0, output: 0 } } },
    timeouts: { first_byte: '20s', stream_idle: '20s', total: '60s' },
  },
});

beforeAll(async () => {
  ({ key } = await gateway.stack.operator.customer());
  client = gatewayClient(gateway.stack.origin, key);
});

afterAll(async () => {
  client?.close();
});

const MIB = 1024 * 1024;
const LIMIT_BYTES = 20 * MIB;

function bodyOf(bytes: number): string {
  const shell = JSON.stringify({ model: 'wide', messages: [{ role: 'user', content: '' }] });
  return JSON.stringify({ model: 'wide', messages: [{ role: 'user', content: 'a'.repeat(bytes - shell.length) }] });
}

describe.each(['http1', 'http2'] as const)('%s', (protocol) => {
  test('a body of exactly 20 MiB is served', async () => {
    const own = gatewayClient(gateway.stack.origin, key, { protocol });
    const received = await own.send({ path: '/v1/chat/completions', body: bodyOf(LIMIT_BYTES) });
    expect(outcome(received)).toBe('200');
    expect(gateway.provider.requests('wide').at(-1)?.body.length).toBeGreaterThanOrEqual(LIMIT_BYTES);
    own.close();
  });

  test('a body of one byte more is 413', async () => {
    const own = gatewayClient(gateway.stack.origin, key, { protocol });
    const received = await own.send({ path: '/v1/chat/completions', body: bodyOf(LIMIT_BYTES + 1) });
    expect(outcome(received)).toBe('413 request_too_large');
    own.close();
  });
});

/** Uploads in chunks without a content-length until a response comes or `totalBytes` are sent. */
function uploadChunked(
  totalBytes: number,
  method = 'POST',
  path = '/v1/chat/completions',
): Promise<{ status: number; text: string; sentBytes: number }> {
  return new Promise((resolve, reject) => {
    let sentBytes = 0;
    let answered = false;
    const outgoing = httpRequest(
      `${gateway.stack.origin}${path}`,
      { method, headers: { authorization: `Bearer ${key}`, 'transfer-encoding': 'chunked' }, agent: false },
      (response) => {
        answered = true;
        let text = '';
        response.on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, sentBytes }));
        response.on('error', reject);
      },
    );
    // The gateway closes the connection after its response, so that writes still in progress fail,
    // as they should.
    outgoing.on('error', (error) => (answered ? undefined : reject(error)));
    const chunk = Buffer.alloc(64 * 1024, 'a');
    const step = (): void => {
      while (!answered && sentBytes < totalBytes) {
        sentBytes += chunk.length;
        if (!outgoing.write(chunk)) {
          outgoing.once('drain', step);
          return;
        }
      }
      if (!answered) outgoing.end();
    };
    step();
  });
}

test('a read with a body over the limit is 413, with a content-length or without; a body within it is served', async () => {
  const read = async (path: string, bytes: number) => {
    const head = `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${bytes}\r\n\r\n`;
    const socket = connect(Number(new URL(gateway.stack.origin).port), '127.0.0.1');
    try {
      socket.write(head);
      if (bytes <= MIB) socket.write(Buffer.alloc(bytes, 'a'));
      const [answer] = await once(socket, 'data');
      return String(answer).split('\r\n', 1)[0];
    } finally {
      socket.destroy();
    }
  };
  expect(await read('/v1/credits', LIMIT_BYTES + 1)).toBe('HTTP/1.1 413 Payload Too Large');
  // The limit is checked before the query.
  expect(await read('/v1/usage?nonsense=1', LIMIT_BYTES + 1)).toBe('HTTP/1.1 413 Payload Too Large');
  expect(await read('/v1/credits', 10)).toBe('HTTP/1.1 200 OK');
  const undeclared = async (bytes: number) => (await uploadChunked(bytes, 'GET', '/v1/credits')).status;
  expect(await undeclared(LIMIT_BYTES + MIB)).toBe(413);
  expect(await undeclared(MIB)).toBe(200);
});

test('an upload that never ends is 413 at the limit, and memory stays bounded', async () => {
  const before = residentBytes(gateway.stack.gateway.pid) + residentBytes(gateway.stack.envoy.pid);
  const { status, sentBytes } = await uploadChunked(2 ** 40);
  const after = residentBytes(gateway.stack.gateway.pid) + residentBytes(gateway.stack.envoy.pid);
  expect(status).toBe(413);
  expect(sentBytes).toBeLessThan(LIMIT_BYTES + 16 * MIB);
  expect(after - before).toBeLessThan(128 * MIB);
});

test('reads whose bodies never arrive do not block uploads of completions, and end with 408', {
  timeout: 30_000,
}, async () => {
  const { organizationId, key: own } = await gateway.stack.operator.customer({ organization: { concurrency: 1 } });
  const { key: reader } = await gateway.stack.operator.addKey(organizationId, { scopes: ['usage:read'] });
  const port = Number(new URL(gateway.stack.origin).port);
  const status = async (text: string, sends: readonly string[] = []): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    try {
      socket.write(text);
      for (const piece of sends) {
        await sleep(200);
        socket.write(piece);
      }
      return String((await once(socket, 'data'))[0]).split(' ', 2)[1] ?? '';
    } finally {
      socket.destroy();
    }
  };
  const head = (method: string, bearer: string, bytes: number) =>
    `${method} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\ncontent-length: ${bytes}\r\n\r\n`;
  const reads = Array.from({ length: 300 }, () => status(head('GET /v1/credits', reader, 5)));
  expect(await Promise.race(reads)).toBe('429');
  const body = JSON.stringify({ model: 'wide', messages: [{ role: 'user', content: 'hello' }] });
  expect(await status(head('POST /v1/chat/completions', own, body.length), [body])).toBe('200');
  const counts = Map.groupBy(await Promise.all(reads), (one) => one);
  expect([counts.get('408')?.length, counts.get('429')?.length]).toEqual([16, 284]);
});
