import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { endAll, identityOf, isAlive, processesIn } from './process-identity.ts';

const started: number[] = [];

afterEach(() => {
  for (const pid of started.splice(0)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The test has ended it.
    }
  }
});

function sleeper(cwd = '/'): number {
  const { pid } = spawn('sleep', ['60'], { cwd, stdio: 'ignore' });
  if (pid === undefined) throw new Error('sleep could not be started');
  started.push(pid);
  return pid;
}

test('a process is alive until it ended', async () => {
  const identity = identityOf(sleeper());
  expect(isAlive(identity)).toBe(true);
  expect(await endAll([identity], 'SIGKILL', 2_000)).toBe(true);
  expect(isAlive(identity)).toBe(false);
});

test('another process with the same id is not the one that was meant', () => {
  const { pid, started: startTime } = identityOf(sleeper());
  expect(isAlive({ pid, started: String(Number(startTime) + 1) })).toBe(false);
});

test('a process that ignores the signal is reported, and not waited for', async () => {
  const child = spawn('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (child.pid === undefined) throw new Error('sh could not be started');
  started.push(child.pid);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  expect(await endAll([identityOf(child.pid)], 'SIGTERM', 100)).toBe(false);
});

test('finds processes by working folder and name', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'identity ')));
  const pid = sleeper(folder);
  sleeper('/');
  expect(processesIn(folder, 'sleep').map((found) => found.pid)).toEqual([pid]);
  expect(processesIn(folder, 'postgres')).toEqual([]);
  rmSync(folder, { recursive: true });
});
