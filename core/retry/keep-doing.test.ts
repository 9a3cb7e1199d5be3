import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepDoing } from './keep-doing.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('work is done at once or after a pause, then after every pause until the end', async () => {
  const done: string[] = [];
  const note = (name: string) => async () => void done.push(name);
  const ends = [keepDoing(1_000, note('now'), () => {}), keepDoing(1_000, note('later'), () => {}, 'after a pause')];
  expect(done).toEqual(['now']);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(done.toSorted()).toEqual(['later', 'later', 'now', 'now', 'now']);
  for (const end of ends) void end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(done).toHaveLength(5);
});

test('a pause may depend on the result of the run before it', async () => {
  const results: (string | undefined)[] = [];
  let runs = 0;
  const work = async () => {
    runs += 1;
    if (runs === 2) throw new Error('failed');
    return `run ${runs}`;
  };
  const pauseMs = (result: string | undefined) => {
    results.push(result);
    return 1_000 * runs;
  };
  const end = keepDoing(pauseMs, work, () => {});
  await vi.advanceTimersByTimeAsync(999);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(runs).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect([runs, results]).toEqual([3, ['run 1', undefined, 'run 3']]);
  await end();
});

test('a long run delays the next, and its failure after the end is not reported', async () => {
  const failures: unknown[] = [];
  const runs: PromiseWithResolvers<void>[] = [];
  const work = () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  const end = keepDoing(1_000, work, (error) => failures.push(error));
  await vi.advanceTimersByTimeAsync(3_500);
  expect(runs).toHaveLength(1);
  runs[0]?.reject('first');
  await vi.advanceTimersByTimeAsync(1_000);
  expect([failures, runs.length]).toEqual([['first'], 2]);
  const ended = end();
  runs[1]?.reject('second');
  await ended;
  expect(failures).toEqual(['first']);
});
