import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createWorkQueue } from './work-queue.ts';

function gate() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { promise, resolve, reject };
}

describe('the queue of hashes', () => {
  it('runs a number of tasks at once, the others in order, and refuses excess ones immediately', async () => {
    const turn = createWorkQueue({ atOnce: 2, maxWaiting: 2 });
    const gates = Array.from({ length: 4 }, gate);
    const started: number[] = [];
    const results = gates.map(({ promise }, index) =>
      turn('stranger', () => {
        started.push(index);
        return promise;
      }),
    );
    expect(await turn('stranger', async () => 'never')).toBe('busy');
    await setImmediate();
    expect(started).toEqual([0, 1]);
    gates[1]?.resolve('one');
    await results[1];
    await setImmediate();
    expect(started).toEqual([0, 1, 2]);
    // A slot in the queue is free again.
    const late = turn('stranger', async () => 'late');
    for (const [index, { resolve }] of gates.entries()) resolve(String(index));
    expect(await Promise.all([...results, late])).toEqual(['0', 'one', '2', '3', 'late']);
  });

  it('continues after a task that fails', async () => {
    const turn = createWorkQueue({ atOnce: 1, maxWaiting: 1 });
    const first = gate();
    const failing = turn('stranger', () => first.promise);
    const next = turn('stranger', async () => 'next');
    first.reject(new Error('no memory'));
    await expect(failing).rejects.toThrow('no memory');
    expect(await next).toBe('next');
    expect(await turn('stranger', async () => 'again')).toBe('again');
  });

  it('gives a slot to a waiting task before one that arrives at the same moment', async () => {
    const turn = createWorkQueue({ atOnce: 1, maxWaiting: 5 });
    const first = gate();
    let running = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++running);
      await setImmediate();
      running--;
      return 'done';
    };
    const all = [turn('stranger', () => first.promise), turn('stranger', work), turn('stranger', work)];
    first.resolve('first');
    await all[0];
    all.push(turn('stranger', work));
    await Promise.all(all);
    expect(most).toBe(1);
  });

  it('serves known callers before strangers, even if strangers fill their queue', async () => {
    const turn = createWorkQueue({ atOnce: 1, maxWaiting: 2 });
    const first = gate();
    const order: string[] = [];
    const note = (name: string) => async () => order.push(name);
    const all = [
      turn('stranger', () => first.promise),
      turn('stranger', note('stranger 1')),
      turn('stranger', note('stranger 2')),
    ];
    expect(await turn('stranger', note('too many'))).toBe('busy');
    all.push(turn('known', note('known 1')), turn('known', note('known 2')));
    expect(await turn('known', note('too many'))).toBe('busy');
    first.resolve('first');
    await Promise.all(all);
    expect(order).toEqual(['known 1', 'known 2', 'stranger 1', 'stranger 2']);
  });
});
