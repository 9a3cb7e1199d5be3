import dns from 'node:dns/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { sendWebhook } from './webhook-request.ts';

/**
 * An attacker's name server (DNS rebinding): it returns an allowed address when the name is
 * checked, and an address in the operator's network afterwards.
 */
const ALLOWED = '127.0.0.2';
const SECRET = '127.0.0.1';
const answers: string[][] = [];
const lookups: string[] = [];

const asked: string[] = [];
let port = 0;
const servers: Server[] = [];

async function listen(address: string): Promise<void> {
  const server = createServer((_request, response) => {
    asked.push(address);
    response.end();
  });
  servers.push(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
  port = (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  const lookup = async (host: string) => {
    lookups.push(host);
    // The last answer is repeated.
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    return addresses.map((address) => ({ address, family: 4 }));
  };
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as never);
  await listen(SECRET);
  await listen(ALLOWED);
});
afterAll(async () => {
  vi.restoreAllMocks();
  for (const server of servers) server.closeAllConnections();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});
beforeEach(() => {
  for (const list of [answers, lookups, asked]) list.length = 0;
});

const send = () =>
  sendWebhook({ url: `http://rebinding.example:${port}/`, headers: {}, body: '{}' }, [`${ALLOWED}/32`]);
const REFUSED = { kind: 'failed', text: 'this is not an address on the Internet' };

test('connects to the address that was checked: the name is resolved once', async () => {
  answers.push([ALLOWED], [SECRET]);
  expect(await send()).toEqual({ kind: 'delivered', text: 'status 200' });
  expect([asked, lookups]).toEqual([[ALLOWED], ['rebinding.example']]);
});

test('checks the next message again, over a connection of its own', async () => {
  answers.push([ALLOWED], [SECRET]);
  await send();
  expect(await send()).toEqual(REFUSED);
  expect(asked).toEqual([ALLOWED]);
});

test.each([[[ALLOWED, SECRET]], [[SECRET, ALLOWED]]])(
  "a name with an address of the operator's network among %s is refused",
  async (both) => {
    answers.push(both);
    expect(await send()).toEqual(REFUSED);
    expect(asked).toEqual([]);
  },
);
