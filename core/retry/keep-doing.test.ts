import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepDoing } from './keep-doing.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('work is done at once or after an interval, then at every interval until the end', async () => {
  const done: string[] = [];
  const note = (name: string) => async () => void done.push(name);
  const ends = [
    keepDoing(1_000, note('now'), () => {}),
    keepDoing(1_000, note('later'), () => {}, 'after an interval'),
  ];
  expect(done).toEqual(['now']);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(done).toEqual(['now', 'now', 'later', 'now', 'later']);
  for (const end of ends) end();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(done).toHaveLength(5);
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
  end();
  runs[1]?.reject('second');
  await vi.advanceTimersByTimeAsync(0);
  expect(failures).toEqual(['first']);
});
