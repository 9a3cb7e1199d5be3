import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { REPOSITORY } from '../harness/deployment.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, outcome } from '../harness/gateway-client.ts';
import { residentBytes } from '../harness/process-cpu.ts';
import { ipcMessage, startProcess, type TestProcess } from '../launchers/child-process.ts';
import { type HostileStack, startHostileStack } from './hostile-stack.ts';

/** Opens idle connections to every listening address. */
let hostile: HostileStack;
let dashboard: TestProcess;

beforeAll(async () => {
  hostile = await startHostileStack({ postgresSocketDir: inject('postgresSocketDir') });
  dashboard = startProcess(process.execPath, [join(REPOSITORY, 'dashboard/server/main.ts')], {
    cwd: REPOSITORY,
    env: { ...process.env, ...hostile.stack.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  await ipcMessage(dashboard, 'listening');
});
afterAll(async () => {
  await dashboard?.end();
  await hostile?.close();
});
showLogsOnFailure(() => hostile);

const IDLE = 2_000;
const AT_ONCE = 100;
const MIB = 1024 * 1024;
const HTTP2 = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');

interface IdleConnections {
  open(): number;
  close(): Promise<void>;
}

async function openIdle(port: number, says: Buffer = Buffer.alloc(0)): Promise<IdleConnections> {
  const sockets: Socket[] = [];
  const openOne = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        if (says.length > 0) socket.write(says);
        resolve();
      });
      // An idle connection may be closed or reset.
      socket.on('error', () => resolve());
      socket.resume();
      sockets.push(socket);
    });
  while (sockets.length < IDLE) await Promise.all(Array.from({ length: AT_ONCE }, openOne));
  return {
    open: () => sockets.filter((socket) => !socket.destroyed).length,
    close: async () => {
      await Promise.all(
        sockets.map(
          (socket) =>
            new Promise<void>((resolve) =>
              socket.destroyed ? resolve() : socket.once('close', () => resolve()).destroy(),
            ),
        ),
      );
    },
  };
}

test.each([
  ['HTTP/1.1', Buffer.alloc(0)],
  ['HTTP/1.1, in the middle of a header', Buffer.from('GET / HTTP/1.1\r\nho')],
  ['HTTP/2', HTTP2],
])('%s: 2,000 on the public address cost little, and new clients are served', async (_, says) => {
  const before = residentBytes(hostile.envoy().pid);
  const idle = await openIdle(hostile.stack.apiPort, says);
  const client = gatewayClient(hostile.stack.origin, hostile.others.key);
  expect(outcome(await client.chat({ model: 'json' }))).toBe('200');
  client.close();
  expect(await hostile.stat('http.ingress.downstream_cx_active')).toBeGreaterThanOrEqual(IDLE);
  expect(residentBytes(hostile.envoy().pid) - before).toBeLessThan(200 * MIB);
  await idle.close();
});

test('with more connections than the dashboard allows, new ones are served and the longest idle ones are closed', async () => {
  const { port } = new URL(hostile.stack.dashboardOrigin);
  const idle = await openIdle(Number(port));
  const more = await openIdle(Number(port));
  for (let request = 0; request < 5; request += 1) {
    // Without a session the API of the page responds with 401.
    const answer = await fetch(`${hostile.stack.dashboardOrigin}/api/session`, { headers: { connection: 'close' } });
    expect(answer.status).toBe(401);
    await answer.text();
  }
  // The client notices closed connections a moment later.
  await expect.poll(() => idle.open() + more.open()).toBeLessThanOrEqual(IDLE);
  expect(more.open()).toBeGreaterThan(IDLE - 10);
  await Promise.all([idle.close(), more.close()]);
});

test('with 2,000 on the metrics address, probes and scrapes get responses and the process has file descriptors left', async () => {
  const { port } = new URL(hostile.stack.metricsOrigin);
  const files = (): number => readdirSync(`/proc/${hostile.stack.gateway.pid}/fd`).length;
  const before = files();
  const idle = await openIdle(Number(port));
  for (const path of ['/live', '/ready', '/metrics']) {
    expect((await fetch(`${hostile.stack.metricsOrigin}${path}`)).status).toBe(200);
  }
  expect(files() - before).toBeLessThan(300);
  await idle.close();
});
