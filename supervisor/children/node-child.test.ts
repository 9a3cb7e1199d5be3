import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Running } from './child-process.ts';
import { startNodeChild } from './node-child.ts';
import { isStartFailure } from './supervised-process.ts';

const never = new AbortController().signal;

/** Generous limit of waits: a busy machine may take long. */
const PATIENT_MS = 30_000;

function start(behaviour: string, times: { startMs?: number; stopMs?: number } = {}, signal = never) {
  const script = fileURLToPath(new URL('../testing/stand-in.ts', import.meta.url));
  const env = { PATH: process.env.PATH };
  const { startMs: startTimeoutMs = PATIENT_MS, stopMs: stopTimeoutMs = PATIENT_MS } = times;
  return startNodeChild({ name: 'It', script, args: [behaviour], env, startTimeoutMs, stopTimeoutMs }, signal);
}

async function started(behaviour: string, stopMs = PATIENT_MS): Promise<Running> {
  const child = await start(behaviour, { stopMs });
  if (isStartFailure(child)) throw new Error(child.message);
  return child;
}

test('is up when it says that it listens, and ends on SIGTERM', async () => {
  const child = await started('serve');
  await child.stop();
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('a signal opens no debugger', async () => {
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

test('one that does not end is killed', async () => {
  const child = await started('stubborn', 300);
  await child.stop();
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('exit status 78 is final, any other is not', async () => {
  expect(await start('refuse')).toMatchObject({ kind: 'start_failure', final: true });
  expect(await start('crash')).toMatchObject({
    kind: 'start_failure',
    final: false,
    message: 'It ended with exit code 1 before it was ready',
  });
});

test('one that never listens is given up, and ended', async () => {
  expect(await start('mute', { startMs: 1_000 })).toMatchObject({
    message: 'It was not ready after 1000 ms',
    final: false,
  });
});

test('gives up at once when asked to', async () => {
  const asked = new AbortController();
  setTimeout(() => asked.abort(), 100);
  const before = performance.now();
  expect(await start('mute', {}, asked.signal)).toMatchObject({ message: 'It was stopped' });
  expect(performance.now() - before).toBeLessThan(PATIENT_MS);
});
