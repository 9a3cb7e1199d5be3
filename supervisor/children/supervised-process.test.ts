import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { endProcess, exitOf, type Running } from './child-process.ts';
import {
  FIRST_DELAY_MS,
  isStartFailure,
  keepRunning,
  keepTrying,
  LONGEST_DELAY_MS,
  RECOVERED_AFTER_MS,
  restartDelays,
  type SupervisedOptions,
  type SupervisedProcess,
  startFailure,
} from './supervised-process.ts';

const kept: SupervisedProcess[] = [];
const never = new AbortController().signal;

afterEach(async () => {
  for (const one of kept.splice(0)) await one.stop();
});

function startShell(script: string): Running {
  const child = spawn('sh', ['-c', script], { stdio: 'ignore' });
  const exited = exitOf(child);
  if (child.pid === undefined) throw new Error('sh could not be started');
  return { pid: child.pid, exited, stop: () => endProcess(child, exited, [{ signal: 'SIGTERM', waitMs: 500 }]) };
}

async function keep(
  options: Partial<SupervisedOptions> & Pick<SupervisedOptions, 'start'>,
): Promise<SupervisedProcess> {
  const result = await keepRunning({ name: 'It', report: () => {}, gaveUp: () => {}, ...options }, never);
  if (isStartFailure(result)) throw new Error(result.message);
  kept.push(result);
  return result;
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 10, timeout: 20_000 }).toBe(true);
}

test('restarts a killed process, and reports the death', async () => {
  const lines: string[] = [];
  const it = await keep({ start: async () => startShell('exec sleep 60'), report: (line) => lines.push(line) });
  const first = it.current()?.pid ?? 0;
  process.kill(first, 'SIGKILL');
  await until(() => it.current() !== undefined && it.current()?.pid !== first);
  expect(lines).toEqual(['It ended with signal SIGKILL; starting it again']);
});

test('restarts a process that keeps dying less and less often', async () => {
  const startedMs: number[] = [];
  await keep({
    start: async () => {
      startedMs.push(performance.now());
      return startShell('exit 3');
    },
  });
  await until(() => startedMs.length === 4);
  const [, second = 0, third = 0, fourth = 0] = startedMs;
  // The second at once. A timer may fire a millisecond early by the clock.
  expect(third - second).toBeGreaterThan(198);
  expect(fourth - third).toBeGreaterThan(398);
});

test('retries a failed start, except the first', async () => {
  let starts = 0;
  const start = async () => {
    starts += 1;
    return starts === 2 ? startFailure('no luck') : startShell(starts === 1 ? 'exit 0' : 'exec sleep 60');
  };
  const it = await keep({ start });
  await until(() => starts === 3 && it.current() !== undefined);
  const failed = await keepRunning(
    { name: 'It', start: async () => startFailure('no'), report: () => {}, gaveUp: () => {} },
    never,
  );
  expect(failed).toEqual(startFailure('no'));
});

test('ends the service when a later start refuses its configuration', async () => {
  let given: string | undefined;
  let starts = 0;
  await keep({
    start: async () => (starts++ === 0 ? startShell('exit 1') : startFailure('refused', true)),
    gaveUp: (message) => {
      given = message;
    },
  });
  await until(() => given !== undefined);
  expect(given).toBe('refused');
  expect(starts).toBe(2);
});

test('retries an optional process until it comes up, and again when it dies', async () => {
  const lines: string[] = [];
  let starts = 0;
  const it = keepTrying({
    name: 'It',
    report: (line) => lines.push(line),
    longestDelayMs: 50,
    start: async () => {
      starts += 1;
      return starts <= 3 ? startFailure('port taken', true) : startShell('exec sleep 60');
    },
  });
  kept.push(it);
  await it.tried;
  expect(starts).toBe(1);
  expect(it.current()).toBeUndefined();
  await until(() => it.current() !== undefined);
  expect(lines).toEqual([
    'port taken; next attempt in 50 ms',
    'port taken; next attempt in 50 ms',
    'port taken; next attempt in 50 ms',
  ]);
  const pid = it.current()?.pid ?? 0;
  process.kill(pid, 'SIGKILL');
  await until(() => it.current() !== undefined && it.current()?.pid !== pid);
  expect(lines.at(-1)).toBe('It ended with signal SIGKILL; starting it again');
});

test('stops retrying a process that never came up once it is stopped', async () => {
  let starts = 0;
  const start = async () => {
    starts += 1;
    return startFailure('no');
  };
  const it = keepTrying({ name: 'It', report: () => {}, longestDelayMs: 50, start });
  await it.tried;
  await it.stop();
  const before = starts;
  await sleep(150);
  expect(starts).toBe(before);
});

test('stops a process for good, even while a restart is pending', async () => {
  const running = await keep({ start: async () => startShell('exec sleep 60') });
  const pid = running.current()?.pid ?? 0;
  await running.stop();
  expect(() => process.kill(pid, 0)).toThrow();

  let starts = 0;
  const dying = await keep({
    start: async () => {
      starts += 1;
      return startShell('exit 1');
    },
  });
  await until(() => starts === 2);
  await dying.stop();
  const before = starts;
  await sleep(300);
  expect(starts).toBe(before);
  expect(dying.current()).toBeUndefined();
});

test('the first restart is immediate, and the next delays double up to the longest', () => {
  const nextDelayMs = restartDelays();
  const delays = Array.from({ length: 9 }, () => nextDelayMs(10));
  expect(delays).toEqual([
    0,
    FIRST_DELAY_MS,
    400,
    800,
    1_600,
    3_200,
    LONGEST_DELAY_MS,
    LONGEST_DELAY_MS,
    LONGEST_DELAY_MS,
  ]);
});

test('a process that stayed up starts again with the first delay', () => {
  const nextDelayMs = restartDelays();
  for (let death = 0; death < 5; death++) nextDelayMs(10);
  expect(nextDelayMs(RECOVERED_AFTER_MS)).toBe(0);
  expect(nextDelayMs(RECOVERED_AFTER_MS - 1)).toBe(FIRST_DELAY_MS);
});

test('the delay stays the longest however often the process dies', () => {
  const nextDelayMs = restartDelays();
  for (let death = 0; death < 5_000; death++) nextDelayMs(0);
  expect(nextDelayMs(0)).toBe(LONGEST_DELAY_MS);
});
