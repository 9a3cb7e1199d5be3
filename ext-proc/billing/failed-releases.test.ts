import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { HoldRelease } from '../limits/limit-store.ts';
import { HoldKeeper, type HoldOwner } from './hold-keeper.ts';

describe('releases that the store did not confirm', () => {
  let nowMs = 0;
  let tried: HoldRelease[] = [];
  let answer: (release: HoldRelease) => Promise<void> = async () => {};
  let keeper: HoldKeeper;
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const ownerOf = (generationId: string): HoldOwner => ({ generationId, organizationId: 'org', keyId: 'key' });
  const end = (holdId: string) => keeper.release(ownerOf(holdId), { tokensUsed: 7 });
  const owe = (holdId: string) => keeper.owe(ownerOf(holdId), 7, 1n);
  const unavailable = () => Promise.reject(new StoreUnavailable('away'));

  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 0;
    tried = [];
    answer = async () => {};
    const release = (given: HoldRelease) => {
      tried.push(given);
      return answer(given);
    };
    const log = { warn() {} } as unknown as Log;
    const limits = { release, renew: () => Promise.reject(new Error('nothing is held')) };
    keeper = new HoldKeeper({ limits, clock, log, renewEveryMs: 4_000, renewWithinMs: 9_000, onProblem() {} });
  });
  afterEach(async () => {
    answer = async () => {};
    await keeper.close();
    vi.useRealTimers();
  });

  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  it('are retried until it does, each with the time of the attempt', async () => {
    answer = unavailable;
    await end('a');
    await pass(5_000);
    expect(tried.length).toBeGreaterThan(2);
    answer = async () => {};
    await pass(500);
    const release = { holdId: 'a', organizationId: 'org', keyId: 'key', tokensUsed: 7 };
    expect(tried.at(-1)).toEqual({ ...release, nowMs: 5_500 });
    tried = [];
    await pass(10_000);
    expect(tried).toEqual([]);
  });

  it('of owed holds are replaced by the end of the hold, whichever failed first', async () => {
    answer = unavailable;
    owe('a');
    await end('a');
    await end('b');
    owe('b');
    owe('c');
    await pass(0);
    const slow = Promise.withResolvers<void>();
    answer = () => slow.promise;
    tried = [];
    await pass(500);
    answer = unavailable;
    await end('c');
    slow.resolve();
    answer = async () => {};
    await pass(500);
    const ended = undefined;
    expect(tried.map(({ holdId, owedNanoUsd }) => [holdId, owedNanoUsd])).toEqual([
      ...[
        ['a', ended],
        ['b', ended],
        ['c', 1n],
      ],
      ...[
        ['c', ended],
        ['c', ended],
      ],
    ]);
  });

  it('of one organization whose keys are broken do not keep the others waiting', async () => {
    answer = unavailable;
    await end('broken');
    await end('well');
    tried = [];
    answer = async ({ holdId }) => {
      if (holdId === 'broken') throw new Error('WRONGTYPE');
    };
    await pass(5_000);
    expect(tried.map(({ holdId }) => holdId)).toEqual(['broken', 'well']);
  });

  it('are bounded in number, and not all retried while the store is unavailable', async () => {
    answer = unavailable;
    await Promise.all(Array.from({ length: 30_000 }, (_, i) => end(`hold-${i}`)));
    tried = [];
    await pass(500);
    expect(tried).toHaveLength(200);
    answer = async () => {};
    tried = [];
    await keeper.close();
    expect(tried).toHaveLength(20_000);
  });

  it('are all retried when it closes, after an attempt that is under way', async () => {
    answer = unavailable;
    await end('a');
    tried = [];
    const slow = Promise.withResolvers<void>();
    answer = () => slow.promise;
    await pass(500);
    answer = unavailable;
    await end('b');
    const closed = keeper.close();
    answer = async () => {};
    slow.resolve();
    await closed;
    expect(tried.map(({ holdId }) => holdId)).toEqual(['a', 'b', 'b']);
  });
});
