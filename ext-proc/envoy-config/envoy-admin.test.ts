import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEnvoyStateReader } from './envoy-admin.ts';

/** An admin interface that says what the test says, and notes what it is asked. */
let folder: string;
let admin: Server;
let asked: string[];
let info: { version: string; state: string; uptime_current_epoch: string };
let clusters: object[];
let nowMs: number;
const clock = { monotonicMs: () => nowMs };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gw-admin-'));
  asked = [];
  clusters = [];
  nowMs = 1_000;
  info = { version: 'hash/1.39.3/Clean', state: 'LIVE', uptime_current_epoch: '12s' };
  admin = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end(JSON.stringify(request.url === '/server_info' ? info : { cluster_statuses: clusters }));
  });
  await new Promise<void>((resolve) => admin.listen(join(folder, 'admin.sock'), resolve));
});
afterEach(() => {
  admin.close();
  rmSync(folder, { recursive: true });
});

test("reads the clusters each time, and the server's facts every ten seconds", async () => {
  const state = createEnvoyStateReader(join(folder, 'admin.sock'), clock);
  const live = { version: '1.39.3', state: 'LIVE', ejected: new Set(), serversOut: new Map() };
  expect(await state()).toEqual({ ...live, uptimeMs: 12_000 });
  info = { ...info, state: 'DRAINING', uptime_current_epoch: '30s' };
  nowMs += 9_999;
  expect(await state()).toEqual({ ...live, uptimeMs: 21_999 });
  nowMs += 1;
  expect(await state()).toEqual({ ...live, state: 'DRAINING', uptimeMs: 30_000 });
  const paths = asked.map((path) => path.split('?')[0]).sort();
  expect(paths).toEqual(['/clusters', '/clusters', '/clusters', '/server_info', '/server_info']);
});

test('names the servers that get no requests, with the reason', async () => {
  const at = (port_value: number, health_status: object, address = '10.0.0.1') => ({
    ...{ hostname: 'vllm', address: { socket_address: { address, port_value } } },
    health_status,
  });
  const ejected = { failed_outlier_check: true };
  const hosts = [at(1, { failed_active_health_check: true }), at(2, ejected, '2001:db8::1'), at(3, {})];
  clusters = [
    { name: 'some', host_statuses: hosts },
    { name: 'all', host_statuses: hosts.slice(0, 1) },
  ];
  const state = await createEnvoyStateReader(join(folder, 'admin.sock'), clock)();
  expect(state?.ejected).toEqual(new Set(['all']));
  expect(state?.serversOut.get('some')).toEqual(['10.0.0.1:1 (health check)', '[2001:db8::1]:2 (ejected)']);
});

test('drops the cached facts when Envoy does not respond, because the next one may be another Envoy', async () => {
  const state = createEnvoyStateReader(join(folder, 'admin.sock'), clock);
  await state();
  await new Promise((resolve) => admin.close(resolve));
  expect(await state()).toBeUndefined();
  info = { ...info, version: 'hash/1.40.0/Clean' };
  await new Promise<void>((resolve) => admin.listen(join(folder, 'admin.sock'), resolve));
  expect((await state())?.version).toBe('1.40.0');
});
