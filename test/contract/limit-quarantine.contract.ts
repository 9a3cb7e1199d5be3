import { describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import type { Hold, LimitStore } from '#ext-proc/limits/limit-store.ts';
import {
  admitFresh,
  DAY,
  LEASE_MS,
  NOON_ISH,
  QUARANTINE_MS,
  releaseOf,
  requestOf,
  snapshotOf,
  TOTAL_MS,
} from './limit-store.fixtures.ts';

/** Holds that their process does not renew: the slot is free, but not the money. */
export function quarantineContract(storeOf: () => LimitStore): void {
  const at = (ms: number) => NOON_ISH + ms;
  const live = (holdId: string): Hold => ({
    ...{ holdId, organizationId: 'org-1', keyId: 'key-1' },
    ...{ day: DAY, holdNanoUsd: 100n, totalTimeoutMs: TOTAL_MS },
  });
  const renew = (ids: readonly string[], ms: number) => storeOf().renew(ids.map(live), at(ms));
  const held = (ms: number) => storeOf().heldNanoUsd('org-1', at(ms));
  const release = (id: string, ms: number, changes: Parameters<typeof releaseOf>[1] = {}) =>
    storeOf().release(releaseOf(id, { nowMs: at(ms), ...changes }));
  const KNOWN = { takenBack: [], exposed: [], failed: [] };
  const UNKNOWN = { takenBack: ['a'], exposed: ['a'], failed: [] };

  describe('a hold that is not renewed', () => {
    it('loses its slot after a lease, and keeps its money until no request can be as old', async () => {
      const mine = { concurrency: 1, organizationLimits: { dailyBudgetNanoUsd: 1_000n } };
      await admitFresh(storeOf(), { ...mine, holdId: 'lost', holdNanoUsd: 700n });
      const before = { ...mine, nowMs: at(LEASE_MS - 1), holdNanoUsd: 300n };
      expect(await admitFresh(storeOf(), before)).toMatchObject({ rule: 'concurrency' });
      const expired = { ...mine, nowMs: at(LEASE_MS) };
      expect(await admitFresh(storeOf(), { ...expired, holdNanoUsd: 301n })).toMatchObject({ rule: 'daily_budget' });
      const keyLimits = { dailyBudgetNanoUsd: 1_000n };
      expect(
        await admitFresh(storeOf(), { ...expired, organizationLimits: {}, keyLimits, holdNanoUsd: 301n }),
      ).toMatchObject({ rule: 'daily_budget' });
      expect(await admitFresh(storeOf(), { ...expired, organizationLimits: {}, holdNanoUsd: 301n })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 300n,
      });
      expect(await held(QUARANTINE_MS - 1)).toBe(700n);
      expect(await held(QUARANTINE_MS)).toBe(0n);
      const free = { ...mine, nowMs: at(QUARANTINE_MS), holdNanoUsd: 1_000n };
      expect(await admitFresh(storeOf(), free)).toMatchObject({ kind: 'admitted' });
    });

    it('may have been charged when its money is free: only snapshots read after that are trusted', async () => {
      const budget = { organizationLimits: { dailyBudgetNanoUsd: 1_000n } };
      await admitFresh(storeOf(), { holdId: 'lost', holdNanoUsd: 700n });
      const trusted = requestOf({ ...budget, nowMs: at(QUARANTINE_MS - 1), holdNanoUsd: 301n });
      expect(await storeOf().admit(trusted)).toMatchObject({ rule: 'daily_budget' });
      const late = { ...trusted, nowMs: at(QUARANTINE_MS) };
      expect(await storeOf().admit(late)).toEqual({ kind: 'read_again', day: DAY });
      const charged = snapshotOf({ sequence: 2, balance: 300n, spent: 700n, keySpent: 700n });
      expect(await storeOf().admit({ ...late, snapshot: charged })).toMatchObject({ rule: 'daily_budget' });
      expect(await storeOf().admit(requestOf({ nowMs: late.nowMs, holdNanoUsd: 301n }))).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 300n,
      });
    });

    it('may have been charged to its key, also after another key was trusted again', async () => {
      const budget = { keyLimits: { dailyBudgetNanoUsd: 705n } };
      await admitFresh(storeOf(), { holdId: 'lost', holdNanoUsd: 700n });
      const nowMs = at(QUARANTINE_MS);
      const charged = snapshotOf({ sequence: 2, balance: 300n, spent: 700n });
      expect(await admitFresh(storeOf(), { keyId: 'key-2', nowMs, snapshot: charged })).toMatchObject({
        kind: 'admitted',
      });
      const old = requestOf({ ...budget, nowMs, holdNanoUsd: 10n });
      expect(await storeOf().admit(old)).toEqual({ kind: 'read_again', day: DAY });
      const ofKey = snapshotOf({ sequence: 2, balance: 300n, spent: 700n, keySpent: 700n });
      expect(await storeOf().admit({ ...old, snapshot: ofKey })).toMatchObject({ rule: 'daily_budget' });
    });

    it('gets its slot back from a late renewal, whatever the limits are', async () => {
      await admitFresh(storeOf(), { holdId: 'a', concurrency: 1 });
      const nowMs = at(LEASE_MS);
      expect(await admitFresh(storeOf(), { holdId: 'b', nowMs, concurrency: 1 })).toMatchObject({ kind: 'admitted' });
      expect(await renew(['a'], LEASE_MS + 1)).toEqual(KNOWN);
      expect(await held(LEASE_MS + 1)).toBe(200n);
      expect(await admitFresh(storeOf(), { nowMs: at(LEASE_MS + 1), concurrency: 2 })).toMatchObject({
        rule: 'concurrency',
      });
      expect(await renew(['a'], 2 * LEASE_MS)).toEqual(KNOWN);
      expect(await renew(['a'], QUARANTINE_MS - 1)).toEqual(KNOWN);
      expect(await held(LEASE_MS + QUARANTINE_MS)).toBe(100n);
    });

    it('ends once with its late release and charge', async () => {
      await admitFresh(storeOf(), { holdId: 'a', holdNanoUsd: 700n, tokens: 50 });
      expect(await held(LEASE_MS)).toBe(700n);
      const snapshot = snapshotOf({ sequence: 2, balance: 600n, spent: 400n });
      for (let i = 0; i < 3; i++) await release('a', LEASE_MS + 1, { snapshot, tokensUsed: 7 });
      expect(await held(LEASE_MS + 1)).toBe(0n);
      const tokens = { tokens: 1, organizationLimits: { tokensPerMinute: 8 } };
      const next = { ...tokens, nowMs: at(LEASE_MS + 2), holdNanoUsd: 601n };
      expect(await storeOf().admit(requestOf(next))).toMatchObject({ rule: 'balance', availableNanoUsd: 600n });
      expect(await storeOf().admit(requestOf({ ...next, holdNanoUsd: 600n }))).toMatchObject({
        windows: { tokens: { remaining: 0 } },
      });
      expect(await held(QUARANTINE_MS)).toBe(600n);
    });

    it('frees no slot when it is released from quarantine', async () => {
      await admitFresh(storeOf(), { holdId: 'a' });
      await admitFresh(storeOf(), { holdId: 'b', nowMs: at(LEASE_MS) });
      const nowMs = at(LEASE_MS + 1);
      const [, next] = await Promise.all([
        release('a', LEASE_MS + 1),
        storeOf().admit(requestOf({ nowMs, concurrency: 1 })),
      ]);
      expect(next).toMatchObject({ rule: 'concurrency' });
    });

    it('goes to quarantine again if it was renewed for longer than a request lives, because its charge waits', async () => {
      await admitFresh(storeOf(), { holdId: 'a' });
      for (let ms = 0; ms < 2 * QUARANTINE_MS; ms += 10_000) await renew(['a'], ms);
      const expiresMs = 2 * QUARANTINE_MS - 10_000 + LEASE_MS;
      expect(await admitFresh(storeOf(), { nowMs: at(expiresMs), concurrency: 1, holdNanoUsd: 901n })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 900n,
      });
      expect(await held(expiresMs + QUARANTINE_MS - 1)).toBe(100n);
      expect(await held(expiresMs + QUARANTINE_MS)).toBe(0n);
    });

    it('counts for the day of its admission', async () => {
      const nearMidnight = (DAY + 1) * DAY_MS - 1_000;
      const budget = { organizationLimits: { dailyBudgetNanoUsd: 700n } };
      await admitFresh(storeOf(), { holdId: 'a', holdNanoUsd: 700n, nowMs: nearMidnight });
      const tomorrow = { ...budget, nowMs: nearMidnight + LEASE_MS, snapshot: snapshotOf({ day: DAY + 1 }) };
      expect(await admitFresh(storeOf(), { ...tomorrow, holdNanoUsd: 301n })).toMatchObject({ rule: 'balance' });
      expect(await admitFresh(storeOf(), { ...tomorrow, holdNanoUsd: 300n })).toMatchObject({ kind: 'admitted' });
    });
  });

  describe('a hold that the store does not know', () => {
    it('is registered again by its renewal, even above the balance, and the renewal reports this', async () => {
      await admitFresh(storeOf(), { holdNanoUsd: 950n });
      expect(await renew(['a'], 1)).toEqual(UNKNOWN);
      expect(await renew(['a', 'a'], 2)).toEqual(KNOWN);
      expect(await held(2)).toBe(1_050n);
      expect(await admitFresh(storeOf(), { nowMs: at(2), holdNanoUsd: 0n })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: -50n,
      });
      await release('a', 3);
      expect(await held(3)).toBe(950n);
    });

    it('goes to quarantine like any other if its process dies after that', async () => {
      expect(await renew(['a'], 0)).toEqual(UNKNOWN);
      expect(await held(QUARANTINE_MS - 1)).toBe(100n);
      expect(await held(QUARANTINE_MS)).toBe(0n);
    });
  });

  it('a release with an unknown charge makes all callers read again', async () => {
    await admitFresh(storeOf(), { holdId: 'a', holdNanoUsd: 600n });
    const old = requestOf({ holdNanoUsd: 600n });
    await release('a', 1, { mayBeCharged: true });
    expect(await storeOf().admit(old)).toEqual({ kind: 'read_again', day: DAY });
    const charged = snapshotOf({ sequence: 2, balance: 400n });
    expect(await storeOf().admit({ ...old, snapshot: charged })).toMatchObject({ availableNanoUsd: 400n });
    await release('never', 2, { mayBeCharged: true });
    expect(await storeOf().admit(requestOf())).toEqual({ kind: 'read_again', day: DAY });
  });
}
