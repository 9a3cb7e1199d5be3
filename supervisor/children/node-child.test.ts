import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { exitText, type Running } from './child-process.ts';
import { startNodeChild } from './node-child.ts';
import { isStartFailure } from './supervised-process.ts';

const never = new AbortController().signal;

/** Generous limit of waits: a busy machine may take long. */
const PATIENT_MS = 30_000;

let onMessage = (): void => {};

afterEach(() => {
  vi.useRealTimers();
});

function start(behaviour: string, times: { startMs?: number; stopMs?: number } = {}, signal = never) {
  const script = fileURLToPath(new URL('./stand-in.fixture.ts', import.meta.url));
  const env = { PATH: process.env.PATH };
  const { startMs: startTimeoutMs = PATIENT_MS, stopMs: stopTimeoutMs = PATIENT_MS } = times;
  const options = {
    name: 'It',
    script,
    args: [behaviour],
    env,
    startTimeoutMs,
    stopTimeoutMs,
    onMessage: () => onMessage(),
  };
  return startNodeChild(options, signal);
}

async function started(behaviour: string, stopMs = PATIENT_MS): Promise<Running> {
  const child = await start(behaviour, { stopMs });
  if (isStartFailure(child)) throw new Error(child.message);
  return child;
}

test('is up once it reports that it listens, and ends on SIGTERM', async () => {
  const child = await started('serve');
  await child.stop();
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('opens no debugger on a signal', async () => {
  const child = await started('serve');
  const sockets = () =>
    readdirSync(`/proc/${child.pid}/fd`).filter((fd) =>
      readlinkSync(`/proc/${child.pid}/fd/${fd}`).startsWith('socket:'),
    );
  const before = sockets();
  process.kill(child.pid, 'SIGUSR1');
  // Its own start took less.
  await sleep(500);
  expect(sockets()).toEqual(before);
  await child.stop();
});

test('kills a process that does not end', async () => {
  const child = await started('stubborn', 300);
  await child.stop();
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('kills a process that sends nothing for 30 s in which this process runs', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const child = await started('serve');
  const suspendFor = async (ms: number): Promise<void> => {
    process.kill(child.pid, 'SIGSTOP');
    // What it has sent arrives first.
    await sleep(100);
    vi.advanceTimersByTime(ms);
  };
  for (let round = 0; round < 3; round++) {
    await suspendFor(30_000);
    const message = new Promise<void>((resolve) => {
      onMessage = resolve;
    });
    process.kill(child.pid, 'SIGCONT');
    await message;
  }
  await suspendFor(31_000);
  expect(exitText(await child.exited)).toBe('signal SIGKILL, because it had sent nothing for 30 s');
});

test('only exit status 78 is final', async () => {
  expect(await start('refuse')).toMatchObject({ kind: 'start_failure', final: true });
  expect(await start('crash')).toMatchObject({
    kind: 'start_failure',
    final: false,
    message: 'It ended with exit code 1 before it was ready',
  });
});

test('gives up on a process that never listens, and ends it', async () => {
  expect(await start('mute', { startMs: 1_000 })).toMatchObject({
    message: 'It was not ready after 1000 ms',
    final: false,
  });
});

test('gives up at once when aborted', async () => {
  const asked = new AbortController();
  setTimeout(() => asked.abort(), 100);
  const before = performance.now();
  expect(await start('mute', {}, asked.signal)).toMatchObject({ message: 'It was stopped' });
  expect(performance.now() - before).toBeLessThan(PATIENT_MS);
});
