import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { boundConnections } from './bounded-connections.ts';

let server: Server;
let clients: Socket[];
/** Requests for /held, until the test answers them. */
let held: ServerResponse[];

beforeEach(async () => {
  clients = [];
  held = [];
  server = createServer((request, response) => {
    if (request.url === '/held') held.push(response);
    else response.end('served');
  });
  boundConnections(server, 3);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const client of clients) client.destroy();
  server.close();
});

/** Resolves when the server has it. */
async function open(): Promise<Socket> {
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  clients.push(client);
  await Promise.all([once(client, 'connect'), accepted]);
  return client;
}

async function ask(client: Socket): Promise<string> {
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  const [answer] = await once(client, 'data');
  return String(answer);
}

async function hold(client: Socket): Promise<void> {
  const begun = once(server, 'request');
  client.write('GET /held HTTP/1.1\r\nhost: a\r\n\r\n');
  await begun;
}

const closing = (client: Socket): Promise<string> => once(client.resume(), 'close').then(() => 'closed');

test('a connection above the limit closes the one that has been idle for longest, not the newest', async () => {
  const [first, second, third] = [await open(), await open(), await open()];
  expect(await ask(first)).toContain('served');
  const closed = closing(second);
  const fourth = await open();
  expect(await closed).toBe('closed');
  for (const client of [first, third, fourth]) expect(await ask(client)).toContain('served');
});

test('a connection that waits for its response outlives idle ones', async () => {
  const waiting = await open();
  await hold(waiting);
  const idle = [await open(), await open()];
  const closed = idle.map(closing);
  await open();
  await open();
  expect(await Promise.all(closed)).toEqual(['closed', 'closed']);
  held[0]?.end('at last');
  const [answer] = await once(waiting, 'data');
  expect(String(answer)).toContain('at last');
});

test('if all wait for a response, the one that began first is closed', async () => {
  const waiting = [await open(), await open(), await open()];
  for (const client of waiting) await hold(client);
  const closed = closing(waiting[0] as Socket);
  const newest = await open();
  expect(await closed).toBe('closed');
  expect(await ask(newest)).toContain('served');
});
