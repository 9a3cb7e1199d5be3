import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Hold, HoldRelease, LimitStore, Renewal } from '../limits/limit-store.ts';
import { HoldKeeper, type HoldOwner, type HoldProblem } from './hold-keeper.ts';

const hold: Hold = {
  ...{ holdId: 'hold', organizationId: 'org', keyId: 'key' },
  ...{ day: 1, holdNanoUsd: 5n, totalTimeoutMs: 900_000 },
};
const other: Hold = { ...hold, holdId: 'other' };
const ownerOf = ({ holdId, organizationId, keyId }: Hold): HoldOwner => ({
  ...{ generationId: holdId, organizationId, keyId },
});
const log = { warn() {} } as unknown as Log;
const WELL: Renewal = { takenBack: [], exposed: [], failed: [] };

describe('keeping leases', () => {
  let nowMs = 0;
  let renewals: string[][] = [];
  /** What the last renewal said to be owed. */
  let toldOwed: (bigint | undefined)[] = [];
  let released: HoldRelease[] = [];
  let limitsAreAway = false;
  /** When the store refuses a release while it is unavailable. */
  let refused = Promise.resolve();
  let problems: HoldProblem[] = [];
  /** How the store answers a renewal. */
  let answer: () => Promise<Renewal> = async () => WELL;
  let keeper: HoldKeeper;
  const clock: Clock = { nowMs: () => 1_000_000 + nowMs, monotonicMs: () => nowMs };
  const limits: Pick<LimitStore, 'renew' | 'release'> = {
    renew(holds) {
      renewals.push(holds.map(({ holdId }) => holdId));
      toldOwed = holds.map(({ owedNanoUsd }) => owedNanoUsd);
      return answer();
    },
    async release(release) {
      if (limitsAreAway) {
        await refused;
        throw new StoreUnavailable('away');
      }
      released.push(release);
    },
  };

  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 0;
    renewals = [];
    released = [];
    problems = [];
    answer = async () => WELL;
    refused = Promise.resolve();
    const onProblem = (problem: HoldProblem) => void problems.push(problem);
    const times = { renewEveryMs: 4_000, renewWithinMs: 9_000 };
    keeper = new HoldKeeper({ limits, clock, log, ...times, onProblem });
  });
  afterEach(async () => {
    await keeper.close();
    vi.useRealTimers();
  });

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      nowMs += 500;
      await vi.advanceTimersByTimeAsync(500);
    }
  }

  it('renews live holds every four seconds, and no others', async () => {
    keeper.keep(hold);
    await pass(60_000);
    expect(renewals).toHaveLength(15);
    void keeper.release(ownerOf(hold));
    renewals = [];
    await pass(60_000);
    expect(renewals).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('makes one renewal at a time, however long it takes', async () => {
    keeper.keep(hold);
    answer = () => new Promise(() => undefined);
    await pass(60_000);
    expect(renewals).toHaveLength(1);
  });

  it('reports holds that cannot be renewed after a newer fence was read, and no others', async () => {
    keeper.keep(hold);
    await pass(1_000);
    keeper.onNewerFence(nowMs);
    await pass(20_000);
    expect(problems).toEqual([]);
    keeper.keep(other);
    answer = async () => ({ ...WELL, failed: [{ holdIds: ['other'], error: new Error('fenced off') }] });
    await pass(20_000);
    problems = [];
    keeper.onNewerFence(nowMs - 5_000);
    await pass(3_000);
    expect(problems).toEqual([]);
    await pass(1_500);
    expect(problems).toEqual([{ kind: 'stranded', holds: 1 }]);
    await pass(20_000);
    expect(problems).toHaveLength(1);
  });

  it('retries only failed renewals early, and reports them once until all succeed', async () => {
    keeper.keep(hold);
    keeper.keep(other);
    const error = new Error('WRONGTYPE');
    answer = async () => ({ ...WELL, failed: [{ holdIds: ['other'], error }] });
    await pass(8_000);
    expect(renewals.filter((ids) => ids.includes('hold'))).toHaveLength(2);
    expect(renewals.filter((ids) => ids.includes('other')).length).toBeGreaterThan(12);
    expect(problems).toEqual([{ kind: 'not_renewed', holds: 1, error }]);
    answer = async () => WELL;
    await pass(8_000);
    answer = () => Promise.reject(error);
    await pass(8_000);
    expect(problems.slice(1)).toEqual([{ kind: 'not_renewed', holds: 2, error }]);
  });

  it('renews an owed hold with the amount that is owed', async () => {
    keeper.keep(hold);
    keeper.keep(other);
    await pass(500);
    expect(toldOwed).toEqual([undefined, undefined]);
    keeper.owe(ownerOf(other), 7, 3n);
    keeper.owe(ownerOf({ ...hold, holdId: 'ended' }), 7, 3n);
    await pass(4_000);
    expect(toldOwed).toEqual([undefined, 3n]);
    expect(keeper.live().map(({ holdId }) => holdId)).toEqual(['hold', 'other']);
  });

  it('reports holds that the store had lost while it admitted others', async () => {
    keeper.keep(hold);
    answer = async () => ({ ...WELL, takenBack: ['hold', 'ended'], exposed: ['hold', 'ended'] });
    await pass(500);
    expect(problems).toEqual([{ kind: 'exposed', holds: 1 }]);
    expect(keeper.live()).toEqual([hold]);
  });

  it('releases a hold that ended while a renewal registered it again, and never as uncharged', async () => {
    keeper.keep(hold);
    keeper.keep(other);
    keeper.owe(ownerOf(other), 7, 3n);
    const answered = Promise.withResolvers<Renewal>();
    answer = () => answered.promise;
    await pass(1_000);
    limitsAreAway = true;
    // The store hears neither of the charge nor of the release after the renewal.
    void keeper.release(ownerOf(other), { tokensUsed: 7, snapshot: {} as AccountSnapshot });
    released = [];
    answered.resolve({ ...WELL, takenBack: ['hold', 'other'] });
    await pass(500);
    limitsAreAway = false;
    await pass(1_000);
    const at = { holdId: 'other', organizationId: 'org', keyId: 'key', nowMs: expect.any(Number) };
    expect(released).toEqual([{ ...at, tokensUsed: 0, mayBeCharged: true }]);
    expect(problems).toEqual([]);
  });

  it('tells the store of an owed amount and of the end, and repeats what the store did not confirm', async () => {
    keeper.keep(hold);
    keeper.owe(ownerOf(hold), 7, 3n);
    const at = { holdId: 'hold', organizationId: 'org', keyId: 'key' };
    expect(released).toEqual([{ ...at, nowMs: 1_000_000, tokensUsed: 7, owedNanoUsd: 3n }]);
    limitsAreAway = true;
    keeper.releaseUnknown(ownerOf(other));
    await keeper.releaseKept('ended');
    const refusal = Promise.withResolvers<void>();
    refused = refusal.promise;
    void keeper.releaseKept('hold');
    expect(keeper.live()).toEqual([]);
    limitsAreAway = false;
    released = [];
    const closing = keeper.close();
    await vi.advanceTimersByTimeAsync(0);
    refusal.resolve();
    await closing;
    expect(released).toEqual([
      { ...at, holdId: 'other', nowMs: 1_000_000, tokensUsed: 0 },
      { ...at, nowMs: 1_000_000, tokensUsed: 0, mayBeCharged: true },
    ]);
  });
});
