import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { startGuard } from './guard.ts';
import { isStartFailure, type StartFailure } from './kept-process.ts';
import { startNodeChild } from './node-child.ts';
import type { Running } from './running.ts';

const guard = startGuard();
const never = new AbortController().signal;
afterAll(() => guard.close());

function start(behaviour: string, signal = never): Promise<Running | StartFailure> {
  const script = fileURLToPath(new URL('testing/stand-in.ts', import.meta.url));
  const env = { PATH: process.env.PATH };
  return startNodeChild(
    { name: 'It', script, args: [behaviour], env, guard, startTimeoutMs: 1_000, stopTimeoutMs: 300 },
    signal,
  );
}

async function started(behaviour: string): Promise<Running> {
  const child = await start(behaviour);
  if (isStartFailure(child)) throw new Error(child.message);
  return child;
}

test('is up when it says that it listens, and ends on SIGTERM', async () => {
  const child = await started('serve');
  await child.stop();
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('one that does not end is killed', async () => {
  const child = await started('stubborn');
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
  expect(await start('mute')).toMatchObject({ message: 'It was not ready after 1000 ms', final: false });
});

test('gives up at once when asked to', async () => {
  const asked = new AbortController();
  setTimeout(() => asked.abort(), 100);
  const before = performance.now();
  expect(await start('mute', asked.signal)).toMatchObject({ message: 'It was stopped' });
  expect(performance.now() - before).toBeLessThan(900);
});
