import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EnvoyProcess, startEnvoy, temporaryPaths } from '../../harness/envoy-process.ts';
import { httpClient } from '../../harness/http-client.ts';
import { ipcMessage, startProcess, type TestProcess } from '../../launchers/child-process.ts';

/** Several gateway processes behind one Envoy, and restarts of Envoy. */
const paths = await temporaryPaths();
let envoy: EnvoyProcess;
const workers: TestProcess[] = [];

beforeAll(async () => {
  await mkdir(paths.socketDir, { recursive: true });
  workers.push(await startWorker(0), await startWorker(1));
  envoy = await startEnvoy({ paths, threads: 2, config: { workers: 2 } });
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.end('SIGKILL')));
  await envoy?.stop();
  await rm(paths.dataDir, { recursive: true, force: true });
});

test('both processes get requests, and each stream goes back to the process that took the request', async () => {
  const client = httpClient(`http://127.0.0.1:${envoy.port}`);
  const answers = await Promise.all(Array.from({ length: 40 }, () => client.send({ path: '/x', body: '{}' })));
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['worker 0', 'worker 1']));
  // A stream that reached the other process would be refused there with status 500.
  const streams = await Promise.all(
    Array.from({ length: 40 }, () => client.send({ path: '/paced?events=2&ms=1', body: '{}' })),
  );
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  for (const index of [0, 1]) {
    const name = `cluster.gateway-stream-${index}.upstream_rq_completed`;
    const text = await envoy.admin(`/stats?filter=^${name}$`);
    expect(Number(text.trim().split(': ')[1])).toBeGreaterThan(0);
  }
  client.close();
});

test('after one process is killed, the other one serves all requests', async () => {
  const client = httpClient(`http://127.0.0.1:${envoy.port}`);
  await workers[0]?.end('SIGKILL');
  const answers = await Promise.all(Array.from({ length: 100 }, () => client.send({ path: '/x', body: '{}' })));
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['worker 1']));
  workers[0] = await startWorker(0);
  client.close();
});

test('Envoy restarts after it was killed, although its old sockets still exist', async () => {
  process.kill(envoy.pid, 'SIGKILL');
  await envoy.stop();
  envoy = await startEnvoy({ paths, threads: 2, config: { workers: 2 } });
  const client = httpClient(`http://127.0.0.1:${envoy.port}`);
  expect((await client.send({ path: '/x', body: '{}' })).status).toBe(200);
  client.close();
});

async function startWorker(index: number): Promise<TestProcess> {
  const started = startProcess(process.execPath, [fileURLToPath(new URL('./transport-child.ts', import.meta.url))], {
    env: { ...process.env, GATEWAY_DATA: paths.dataDir, WORKER: String(index) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  await ipcMessage(started, 'listening');
  return started;
}
