import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../domain/clock.ts';
import type { LimitStore, LiveHold } from '../stores/limit-store.ts';
import { createMemoryLimitStore } from '../stores/memory/limit-store.ts';
import { createHoldKeeper, type HoldKeeper, type HoldProblem } from './holds.ts';

const LEASE_MS = 15_000;
const MARGIN_MS = 6_000;
const hold: LiveHold = {
  holdId: 'hold',
  organizationId: 'org',
  keyId: 'key',
  day: 1,
  holdNanoUsd: 5n,
  totalTimeoutMs: 900_000,
};

describe('keeping leases', () => {
  let nowMs = 0;
  let renewals: number[] = [];
  let problems: HoldProblem[] = [];
  /** How the store answers a renewal. */
  let answer: () => Promise<readonly string[]> = async () => [];
  let keeper: HoldKeeper;
  const clock: Clock = { nowMs: () => 1_000_000 + nowMs, monotonicMs: () => nowMs };
  const limits: LimitStore = {
    ...createMemoryLimitStore({ leaseMs: LEASE_MS }),
    async renew(holds) {
      renewals.push(holds.length);
      const exposed = await answer();
      return { takenBack: exposed, exposed, failed: [] };
    },
  };

  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = 0;
    renewals = [];
    problems = [];
    answer = async () => [];
    keeper = open(LEASE_MS);
  });
  afterEach(() => {
    keeper.close();
    vi.useRealTimers();
  });

  function open(leaseMs: number): HoldKeeper {
    const onProblem = (problem: HoldProblem) => void problems.push(problem);
    return createHoldKeeper({ limits, clock, leaseMs, renewEveryMs: 4_000, marginMs: MARGIN_MS, onProblem });
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      nowMs += 500;
      await vi.advanceTimersByTimeAsync(500);
    }
  }

  it('renews what is live, and nothing else', async () => {
    const lost = keeper.keep(hold, 0);
    await pass(60_000);
    expect(renewals.length).toBeGreaterThanOrEqual(14);
    expect(lost.aborted).toBe(false);
    keeper.drop(hold.holdId);
    renewals = [];
    await pass(60_000);
    expect(renewals).toEqual([]);
  });

  it('ends everything when the process ends, and whoever is admitted after it', () => {
    const before = keeper.keep(hold, 0);
    keeper.endAll();
    const after = keeper.keep({ ...hold, holdId: 'later' }, 0);
    expect([before.reason, after.reason]).toEqual(['process_ends', 'process_ends']);
    expect(keeper.live()).toHaveLength(2);
    expect(problems).toEqual([]);
  });

  it('ends the request a margin before the lease lapses, counted from before the last renewal that succeeded', async () => {
    const lost = keeper.keep(hold, 0);
    await pass(5_000);
    const lastMs = nowMs - (nowMs % 4_000) + 500;
    answer = () => Promise.reject(new Error('away'));
    while (!lost.aborted && nowMs < 60_000) await pass(500);
    expect(nowMs).toBeLessThanOrEqual(lastMs + LEASE_MS - MARGIN_MS);
    expect(nowMs).toBeGreaterThan(LEASE_MS - MARGIN_MS);
    await pass(20_000);
    expect(problems.filter(({ kind }) => kind === 'not_renewed_in_time')).toEqual([
      { kind: 'not_renewed_in_time', holds: 1 },
    ]);
  });

  it('ends the request when a renewal never comes back', async () => {
    const lost = keeper.keep(hold, 0);
    answer = () => new Promise(() => undefined);
    await pass(LEASE_MS - MARGIN_MS);
    expect(lost.aborted).toBe(true);
    expect(renewals).toHaveLength(1);
  });

  it('tries again soon after a renewal that failed', async () => {
    const lost = keeper.keep(hold, 0);
    answer = () => Promise.reject(new Error('away'));
    await pass(4_000);
    answer = async () => [];
    await pass(60_000);
    expect(lost.aborted).toBe(false);
    expect(problems.length).toBeGreaterThan(0);
    expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(['renewal_failed']));
  });

  it('ends the request that the store says has lapsed, once', async () => {
    const lost = keeper.keep(hold, 0);
    const other = keeper.keep({ ...hold, holdId: 'other' }, 0);
    answer = async () => ['hold', 'ended meanwhile'];
    await pass(9_000);
    expect(lost.aborted).toBe(true);
    expect(other.aborted).toBe(false);
    expect(problems).toEqual([{ kind: 'lapsed', holds: 1 }]);
  });

  it('ends it at once after the process stood still for longer than the lease', async () => {
    const lost = keeper.keep(hold, 0);
    await pass(1_000);
    nowMs += 20_000;
    await vi.advanceTimersByTimeAsync(500);
    expect(lost.aborted).toBe(true);
  });

  it('ends nothing after such a stall where no lease can lapse', async () => {
    const forever = open(Number.POSITIVE_INFINITY);
    const lost = forever.keep(hold, 0);
    nowMs += 3_600_000;
    await vi.advanceTimersByTimeAsync(1_000);
    forever.close();
    expect(lost.aborted).toBe(false);
  });
});
