import { expect, test } from 'vitest';
import { ThreadInTurns } from './thread-in-turns.ts';

test('a thread that cannot be started costs the jobs their results, and nobody waits for it', async () => {
  const errors: unknown[] = [];
  const thread = new ThreadInTurns(new URL('http://127.0.0.1/no-script'), {
    onError: (error) => void errors.push(error),
  });
  const prepare = () => ({ job: 'job', transfer: [] });
  const results = [thread.run('a', prepare), thread.run('a', prepare), thread.run('b', prepare)];
  expect(await Promise.all(results)).toEqual([undefined, undefined, undefined]);
  expect(errors).toHaveLength(3);
  thread.close();
});

test('thousands of jobs whose results are no longer needed do not stop the others', async () => {
  const answering =
    'data:text/javascript,import{parentPort as p}from"node:worker_threads";p.on("message",(m)=>p.postMessage(m))';
  const thread = new ThreadInTurns<string, string>(new URL(answering));
  const prepare = () => ({ job: 'job', transfer: [] });
  const first = thread.run('a', prepare);
  const gone = Array.from({ length: 30_000 }, (_, n) => thread.run(String(n % 100), prepare, () => true));
  const last = thread.run('b', prepare);
  expect([await first, await last]).toEqual(['job', 'job']);
  expect(new Set(await Promise.all(gone))).toEqual(new Set([undefined]));
  thread.close();
});

test('a waiting job that is skipped ends at once, and those before it go on', async () => {
  const silent = 'data:text/javascript,import{parentPort as p}from"node:worker_threads";p.on("message",()=>{})';
  const thread = new ThreadInTurns<string, string>(new URL(silent));
  const prepare = () => ({ job: 'job', transfer: [] });
  const isLate = () => true;
  const ended: string[] = [];
  const running = thread.run('a', prepare).then(() => void ended.push('running'));
  const other = thread.run('b', prepare).then(() => void ended.push('other'));
  const late = thread.run('b', prepare, isLate).then(() => void ended.push('late'));
  thread.skip('b', isLate);
  await late;
  expect(ended).toEqual(['late']);
  thread.close();
  await Promise.all([running, other]);
});
