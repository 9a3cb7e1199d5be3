import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { expect, it } from 'vitest';
import { freePorts } from '#test/launchers/free-ports.ts';
import { startHealthServer } from './health-server.ts';

it('answers while any process of the host lives, and a single process shares its address with none', async () => {
  const [port = 0] = await freePorts(1);
  const start = (isShared: boolean, reason?: string) =>
    startHealthServer({ host: '127.0.0.1', port, isShared }, { notReady: async () => reason }, PAGE, () => undefined);
  const first = await start(true);
  const second = await start(true, 'draining');
  await expect(start(false)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await first.close();
  expect(await get(port, '/ready')).toBe('503 draining\n');
  expect(await get(port, '/metrics')).toBe('200 page');
  await second.close();
});

it('reports each connection that cannot be accepted, and goes on', async () => {
  const [port = 0] = await freePorts(1);
  const faults: Error[] = [];
  const address = { host: '127.0.0.1', port };
  const health = await startHealthServer(address, { notReady: async () => undefined }, PAGE, (error) => {
    faults.push(error);
  });
  const servers: Server[] = [];
  const note = (message: unknown) => void servers.push((message as { server: Server }).server);
  subscribe('http.server.request.start', note);
  expect(await get(port, '/live')).toBe('200 live\n');
  unsubscribe('http.server.request.start', note);
  const errors = [new Error('accept ENOBUFS'), new Error('accept ENOMEM')];
  for (const error of errors) servers[0]?.emit('error', error);
  expect(faults).toEqual(errors);
  expect(await get(port, '/live')).toBe('200 live\n');
  await health.close();
});

async function get(port: number, path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
  return `${response.status} ${await response.text()}`;
}

const PAGE = { contentType: 'text/plain', read: async () => 'page' };
