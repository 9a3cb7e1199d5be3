import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, outcome } from '../harness/gateway-client.ts';
import { metric } from '../harness/metrics-page.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { type MockProvider, startMockProvider } from '../load/children.ts';
import { openSilentClients } from '../load/silent-clients.ts';

/** One organization takes all the memory that it can get, while another one is served. */
let provider: MockProvider;
let stack: Stack;
let greedyKey: string;
let otherKey: string;

beforeEach(async () => {
  provider = await startMockProvider();
  const seeing = { capabilities: ['vision'] };
  stack = await startStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
      models: { json: {}, 'big-json': {}, 'held-stream': seeing, 'silent-stream': seeing },
    },
  });
  // A machine that is busy answers late. That is no refusal, so all requests may be in flight.
  const rules = { credit: '1000', organization: { concurrency: 1_000 } };
  const customer = async () => (await stack.operator.customer(rules)).key;
  [greedyKey, otherKey] = [await customer(), await customer()];
});
afterEach(async () => {
  await stack?.close();
  await provider?.stop();
});
showLogsOnFailure(() => stack);

const MIB = 1024 * 1024;
const BODIES = 26;
const BODY_BYTES = 20 * MIB;

/** A one-pixel PNG with padding after its end: some hundred tokens in a body of 20 MiB. */
function bodyOf(model: string): Buffer {
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYIIAAAAAAAAAAAAAAAAA';
  const [before, after] = JSON.stringify({
    model,
    stream: true,
    messages: [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}|` } }] },
    ],
  }).split('|') as [string, string];
  return Buffer.from(before.padEnd(BODY_BYTES - after.length - (before.length % 4), 'A') + after);
}

async function sendAll(body: Buffer): Promise<{ sockets: Socket[]; statuses(): string[] }> {
  const answers: string[] = [];
  const sockets = await Promise.all(
    Array.from({ length: BODIES }, async (_, index) => {
      const socket = connect(stack.apiPort, '127.0.0.1');
      socket.on('error', () => undefined);
      answers[index] = '';
      socket.on('data', (bytes: Buffer) => {
        answers[index] += bytes.toString();
      });
      await once(socket, 'connect');
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${greedyKey}\r\ncontent-length: ${body.length}\r\n\r\n`,
      );
      socket.write(body);
      return socket;
    }),
  );
  return { sockets, statuses: () => answers.map((answer) => answer.slice(9, 12)) };
}

/**
 * Sends a request of a kilobyte every 50 ms. Resolves with the outcomes of those that were not
 * served.
 */
async function othersNotServed(requests: number): Promise<string[]> {
  const client = gatewayClient(stack.origin, otherKey);
  const messages = [{ role: 'user', content: 'Hello '.repeat(150) }];
  const asked: Promise<string>[] = [];
  for (let request = 0; request < requests; request++) {
    asked.push(client.chat({ model: 'json', messages }).then(outcome));
    await sleep(50);
  }
  const outcomes = await Promise.all(asked);
  client.close();
  return outcomes.filter((one) => one !== '200');
}

const held = (use: string) => metric(stack.metricsOrigin, 'gateway_memory_held_bytes', { use });
const refused = (reason: string) => metric(stack.metricsOrigin, 'gateway_memory_refused_total', { reason });

test('26 bodies of 20 MiB leave memory while their streams continue, and no other request is refused', async () => {
  const { sockets, statuses } = await sendAll(bodyOf('held-stream'));
  const duringUploads = await othersNotServed(20);
  await expect.poll(() => statuses().filter((status) => status === '').length, { timeout: 60_000 }).toBe(0);
  expect([duringUploads, await othersNotServed(20)]).toEqual([[], []]);
  expect(statuses().filter((status) => status === '200').length).toBeGreaterThan(BODIES / 2);
  expect(await held('request_bodies')).toBeLessThan(MIB);
  expect(await refused('full')).toBe(0);
  for (const socket of sockets) socket.destroy();
}, 120_000);

test('26 bodies of 20 MiB that are kept only for a retry give way to other requests', async () => {
  const { sockets } = await sendAll(bodyOf('silent-stream'));
  await expect.poll(() => held('request_bodies'), { timeout: 60_000 }).toBeGreaterThan(256 * MIB);
  expect(await othersNotServed(20)).toEqual([]);
  expect(await refused('full')).toBe(0);
  for (const socket of sockets) socket.destroy();
}, 120_000);

test('40 unread JSON responses of 50 MB do not cause refusals for others', async () => {
  const ask = JSON.stringify({ model: 'big-json', messages: [{ role: 'user', content: 'Hello' }] });
  const silent = await openSilentClients(stack.origin, greedyKey, ask, 40);
  expect(await othersNotServed(100)).toEqual([]);
  expect(await refused('full')).toBe(0);
  silent.close();
}, 120_000);
