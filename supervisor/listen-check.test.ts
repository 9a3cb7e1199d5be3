import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { findListenProblem } from './listen-check.ts';

test('reports a port in use with its setting and file; free ports are no problem', async () => {
  const taker = createServer().listen(0, '127.0.0.1');
  await once(taker, 'listening');
  const { port } = taker.address() as AddressInfo;
  const free = { setting: 'listen.metrics', address: { host: '127.0.0.1', port: 0 } };
  const taken = { setting: 'listen.api', address: { host: '0.0.0.0', port } };
  expect(await findListenProblem([free, taken], '/etc/gateway.yaml')).toBe(
    `Port ${port} is already in use (listen.api: 0.0.0.0:${port} in /etc/gateway.yaml). Stop what uses it, or set another port there.`,
  );
  taker.close();
  await once(taker, 'close');
  expect(await findListenProblem([free, taken], '/etc/gateway.yaml')).toBeUndefined();
});

test('reports an address of another machine', async () => {
  const elsewhere = { setting: 'listen.api', address: { host: '192.0.2.1', port: 8080 } };
  expect(await findListenProblem([elsewhere], 'gateway.yaml')).toContain(
    '192.0.2.1:8080 cannot be listened on: EADDRNOTAVAIL (listen.api',
  );
});
