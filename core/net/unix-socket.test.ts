import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listenOn } from './unix-socket.ts';

let folder: string;
const servers: Server[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gw socket-'));
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(folder, { recursive: true, force: true });
});

function server(): Server {
  const created = createServer();
  servers.push(created);
  return created;
}

describe('listenOn', () => {
  test('replaces the socket of a dead process, with rights for its owner only', async () => {
    const path = join(folder, 'a.sock');
    writeFileSync(path, '');
    const listening = server();
    await listenOn(listening, path);
    expect(listening.address()).toBe(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('listens on TCP if an address is given, and reports an address in use', async () => {
    const first = server();
    await listenOn(first, { host: '127.0.0.1', port: 0 });
    const address = first.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    expect(port).toBeGreaterThan(0);
    await expect(listenOn(server(), { host: '127.0.0.1', port })).rejects.toThrow(/EADDRINUSE/);
  });

  test('a folder that is not there is an error, not a missing socket', async () => {
    await expect(listenOn(server(), join(folder, 'none', 'a.sock'))).rejects.toThrow();
  });
});
