import { expect, it } from 'vitest';
import { freePorts } from '#test/launchers/free-ports.ts';
import { startHealthServer } from './health-server.ts';

it('answers while any process of the host lives, and a single process shares its address with none', async () => {
  const [port = 0] = await freePorts(1);
  const start = (isShared: boolean, reason?: string) =>
    startHealthServer({ host: '127.0.0.1', port, isShared }, { notReady: async () => reason }, PAGE);
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    return `${response.status} ${await response.text()}`;
  };
  const first = await start(true);
  const second = await start(true, 'draining');
  await expect(start(false)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await first.close();
  expect(await get('/ready')).toBe('503 draining\n');
  expect(await get('/metrics')).toBe('200 page');
  await second.close();
});

const PAGE = { contentType: 'text/plain', read: async () => 'page' };
