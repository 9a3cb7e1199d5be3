import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { isStartFailure } from './children/supervised-process.ts';
import { type DemoProvider, listenForDemo } from './demo-on-demand.ts';
import { findListenProblem } from './listen-check.ts';

const IDLE_MS = 300;
const settings = { env: process.env, paths: runtimePaths({ GATEWAY_DATA: tmpdir() }) };
let demo: DemoProvider;
let port: number;
let reports: string[];

async function listen(onPort = 0, idleMs = IDLE_MS): Promise<DemoProvider> {
  const listening = await listenForDemo(settings, onPort, (line) => reports.push(line), idleMs);
  if (isStartFailure(listening)) throw new Error(listening.message);
  return listening;
}

beforeEach(async () => {
  reports = [];
  demo = await listen();
  port = demo.port;
});
afterEach(() => demo.stop());

async function ask(text = 'hi'): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { connection: 'close' },
    body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: text }] }),
  });
  await response.text();
  return response.status;
}

/** Waits for its end, which the next request may come before. */
async function untilIdle(): Promise<void> {
  await expect.poll(() => demo.current()).toBeUndefined();
}

test('no process runs before the first request, nor some time after the last one', async () => {
  expect(demo.current()).toBeUndefined();
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([200, 200, 200]);
  const first = demo.current();
  expect(first).toBeDefined();
  await untilIdle();
  expect(await first?.exited).toBeDefined();
  expect(await ask()).toBe(200);
  expect(demo.current()?.pid).not.toBe(first?.pid);
  expect(reports).toEqual([]);
});

test('serves a request longer than the idle time, and an open connection keeps the process', async () => {
  const idle = connect(port, '127.0.0.1');
  // Longer than the idle time.
  expect(await ask('slow')).toBe(200);
  idle.destroy();
  await untilIdle();
  expect(reports).toEqual([]);
});

test('serves all requests around its end', async () => {
  for (let waitMs = IDLE_MS - 60; waitMs < IDLE_MS + 60; waitMs += 12) {
    expect(await ask()).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
});

test('the next request restarts a killed process', async () => {
  await ask();
  const killed = demo.current();
  process.kill(killed?.pid ?? 0, 'SIGKILL');
  await untilIdle();
  expect(reports).toEqual(['The demo provider ended with signal SIGKILL; its next request starts it again']);
  expect(await ask()).toBe(200);
});

test('closes connections on their way to a process that is killed', async () => {
  await ask();
  const killed = demo.current()?.pid ?? 0;
  process.kill(killed, 'SIGSTOP');
  const clients = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  const closed = Promise.all(clients.map((client) => new Promise((resolve) => client.once('close', resolve))));
  await Promise.all(clients.map((client) => new Promise((resolve) => client.once('connect', resolve))));
  // Accepted in a later turn, and passed on in that one.
  await new Promise((resolve) => setTimeout(resolve, 100));
  process.kill(killed, 'SIGKILL');
  await closed;
  expect(await ask()).toBe(200);
});

test('a client that left before the process was up does no harm', async () => {
  const gone = connect(port, '127.0.0.1');
  gone.on('connect', () => gone.resetAndDestroy());
  await new Promise((resolve) => gone.once('close', resolve));
  expect(await ask()).toBe(200);
  await untilIdle();
});

test('a stop closes the port and ends the process', async () => {
  await ask();
  const running = demo.current();
  await demo.stop();
  expect(await running?.exited).toMatchObject({ code: 0 });
  expect(await findListenProblem([{ setting: 'demo', address: { host: '127.0.0.1', port } }], 'file')).toBeUndefined();
});

test('fails if the port is in use', async () => {
  expect(await listenForDemo(settings, port, () => undefined)).toMatchObject({ kind: 'start_failure' });
});
