import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '#core/clock.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { HoldRelease } from '../limits/limit-store.ts';
import { createLateReleases, type LateReleases } from './late-releases.ts';

describe('releases that the store did not confirm', () => {
  let nowMs = 0;
  let tried: HoldRelease[] = [];
  let answer: (release: HoldRelease) => Promise<void> = async () => {};
  let late: LateReleases;
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const releaseOf = (holdId: string): HoldRelease => ({
    ...{ holdId, organizationId: 'org', keyId: 'key' },
    ...{ nowMs: 0, tokensUsed: 7 },
  });
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
    late = createLateReleases({ release }, clock);
  });
  afterEach(async () => {
    answer = async () => {};
    await late.close();
    vi.useRealTimers();
  });

  async function pass(ms: number): Promise<void> {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  it('are retried until it does, each with the time of the attempt', async () => {
    answer = unavailable;
    late.add(releaseOf('a'));
    await pass(5_000);
    expect(tried.length).toBeGreaterThan(2);
    answer = async () => {};
    await pass(1_000);
    expect(late.waiting()).toBe(0);
    expect(tried.at(-1)).toEqual({ ...releaseOf('a'), nowMs: 6_000 });
    tried = [];
    await pass(10_000);
    expect(tried).toEqual([]);
  });

  it('of owed holds are replaced by the end of the hold, whichever came first', async () => {
    const owed = (holdId: string) => ({ ...releaseOf(holdId), owedNanoUsd: 1n });
    answer = unavailable;
    late.add(owed('a'));
    late.add(releaseOf('a'));
    late.add(releaseOf('b'));
    late.add(owed('b'));
    const slow = Promise.withResolvers<void>();
    answer = () => slow.promise;
    late.add(owed('c'));
    await pass(1_000);
    late.add(releaseOf('c'));
    slow.resolve();
    answer = async () => {};
    await pass(1_000);
    expect(tried.map(({ holdId, owedNanoUsd }) => [holdId, owedNanoUsd])).toEqual([
      ...[
        ['a', undefined],
        ['b', undefined],
        ['c', 1n],
      ],
      ['c', undefined],
    ]);
  });

  it('of one organization whose keys are broken do not keep the others waiting', async () => {
    answer = async ({ holdId }) => {
      if (holdId === 'broken') throw new Error('WRONGTYPE');
    };
    late.add(releaseOf('broken'));
    late.add(releaseOf('well'));
    await pass(1_000);
    expect(late.waiting()).toBe(0);
    expect(tried).toHaveLength(2);
  });

  it('are bounded in number, and not all retried while the store is unavailable', async () => {
    answer = unavailable;
    for (let i = 0; i < 30_000; i++) late.add(releaseOf(`hold-${i}`));
    expect(late.waiting()).toBe(20_000);
    await pass(1_000);
    expect(tried).toHaveLength(200);
    answer = async () => {};
    await late.close();
    expect(late.waiting()).toBe(0);
  });

  it('are all tried when it closes, after an attempt that is under way', async () => {
    const slow = Promise.withResolvers<void>();
    answer = () => slow.promise;
    late.add(releaseOf('a'));
    await pass(1_000);
    late.add(releaseOf('b'));
    const closed = late.close();
    slow.resolve();
    await closed;
    expect(tried.map(({ holdId }) => holdId)).toEqual(['a', 'b']);
    expect(late.waiting()).toBe(0);
  });
});
