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
