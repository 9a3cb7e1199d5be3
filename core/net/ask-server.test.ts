import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askServer } from './ask-server.ts';

const server = createServer(({ url }, response) => {
  if (url === '/silent') return;
  if (url === '/pieces') response.write('12345');
  if (url === '/unfinished') response.write('12345');
  else response.end(url === '/fits' ? '1234567890' : '1234567890!');
});
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const ask = (path: string, withinMs = 5_000) =>
  askServer({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, path }, withinMs, 10);

test('an answer that is as long as it may be is taken', async () => {
  expect(await ask('/fits')).toEqual({ status: 200, text: '1234567890' });
});

// The end of a short answer is read together with its beginning.
test.each(['/whole', '/pieces'])('a longer answer is refused, never cut: %s', async (path) => {
  await expect(ask(path)).rejects.toThrow('the answer is too long');
});

test.each(['/silent', '/unfinished'])('a late answer is refused: %s', async (path) => {
  await expect(ask(path, 200)).rejects.toThrow('no answer in 0.2 s');
});
