import { describe, expect, it } from 'vitest';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';
import { admitFresh, DAY, NOON_ISH, releaseOf, requestOf, snapshotOf } from './limit-store.fixtures.ts';

/** The state that every store keeps between calls. */
export function holdsContract(storeOf: () => LimitStore): void {
  const release = (...args: Parameters<typeof releaseOf>) => storeOf().release(releaseOf(...args));
  describe('holds', () => {
    it('end once: a repeated release, or one of an unknown hold, changes nothing', async () => {
      await admitFresh(storeOf(), { holdId: 'a', concurrency: 2, tokens: 50 });
      await admitFresh(storeOf(), { holdId: 'b', concurrency: 2, tokens: 50 });
      await release('a', { tokensUsed: 10 });
      for (let i = 0; i < 5; i++) await release('a', { tokensUsed: 0 });
      await release('never', { tokensUsed: 0 });
      expect(await storeOf().heldNanoUsd('org-1', NOON_ISH)).toBe(100n);
      expect(
        await admitFresh(storeOf(), { concurrency: 2, tokens: 1, organizationLimits: { tokensPerMinute: 61 } }),
      ).toMatchObject({
        kind: 'admitted',
        windows: { tokens: { remaining: 0 } },
      });
      expect(await admitFresh(storeOf(), { concurrency: 2 })).toMatchObject({ rule: 'concurrency' });
    });

    it('are taken once: a repeated admission takes nothing more', async () => {
      const request = { holdId: 'a', concurrency: 2, organizationLimits: { requestsPerMinute: 2 } };
      await admitFresh(storeOf(), request);
      expect(await admitFresh(storeOf(), request)).toMatchObject({
        kind: 'admitted',
        windows: { requests: { remaining: 1 } },
      });
      expect(await storeOf().heldNanoUsd('org-1', NOON_ISH)).toBe(100n);
      await release('a');
      expect(await storeOf().heldNanoUsd('org-1', NOON_ISH)).toBe(0n);
    });

    it('are replaced by the charge in one step, so that both are never missing or counted together', async () => {
      await admitFresh(storeOf(), { holdId: 'a', holdNanoUsd: 700n });
      await release('a', { snapshot: snapshotOf({ sequence: 2, balance: 600n, spent: 400n }) });
      expect(await admitFresh(storeOf(), { holdNanoUsd: 601n })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 600n,
      });
      expect(await admitFresh(storeOf(), { holdNanoUsd: 600n })).toMatchObject({ kind: 'admitted' });
    });
  });

  describe('snapshots', () => {
    it('are kept by sequence: late, repeated and reordered ones change nothing', async () => {
      await admitFresh(storeOf(), { holdId: 'a', snapshot: snapshotOf({ sequence: 5, balance: 500n }) });
      await release('a', { snapshot: snapshotOf({ sequence: 7, balance: 300n, spent: 200n, keySpent: 200n }) });
      const newest = snapshotOf({ sequence: 7, balance: 300n, spent: 200n, keySpent: 200n });
      const late = [5, 6, 1].map((sequence) => snapshotOf({ sequence, balance: 999n }));
      for (const snapshot of [...late, newest]) {
        expect(await admitFresh(storeOf(), { snapshot, holdNanoUsd: 301n })).toMatchObject({
          rule: 'balance',
          availableNanoUsd: 300n,
        });
      }
      const budget = { dailyBudgetNanoUsd: 299n };
      const stale = snapshotOf({ sequence: 6, balance: 999n });
      expect(await admitFresh(storeOf(), { organizationLimits: budget, snapshot: stale })).toMatchObject({
        rule: 'daily_budget',
      });
      expect(await admitFresh(storeOf(), { keyLimits: budget, snapshot: stale })).toMatchObject({
        rule: 'daily_budget',
      });
      const credited = snapshotOf({ sequence: 8, balance: 9_000n });
      expect(await admitFresh(storeOf(), { snapshot: credited, holdNanoUsd: 9_000n })).toMatchObject({
        kind: 'admitted',
      });
    });

    it('are not trusted before the caller was told to read again, also if another caller was told before', async () => {
      const old = snapshotOf({ sequence: 1, balance: 1_000n });
      const first = requestOf({ snapshot: old });
      const second = requestOf({ snapshot: old });
      expect(await storeOf().admit(first)).toEqual({ kind: 'read_again', day: DAY });
      expect(await storeOf().admit(second)).toEqual({ kind: 'read_again', day: DAY });
      const fresh = snapshotOf({ sequence: 9, balance: 100n });
      expect(await storeOf().admit({ ...first, snapshot: fresh })).toMatchObject({ kind: 'admitted' });
      expect(await storeOf().admit(requestOf({ snapshot: old }))).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 0n,
      });
    });

    it('of a key are not trusted either before its first caller was told to read again', async () => {
      await admitFresh(storeOf());
      const request = requestOf({ keyId: 'key-2', keyLimits: { dailyBudgetNanoUsd: 150n } });
      expect(await storeOf().admit(request)).toEqual({ kind: 'read_again', day: DAY });
      const fresh = snapshotOf({ sequence: 2, keySpent: 51n });
      expect(await storeOf().admit({ ...request, snapshot: fresh })).toMatchObject({ rule: 'daily_budget' });
    });

    it('of another day make the caller read again', async () => {
      await admitFresh(storeOf());
      const yesterday = snapshotOf({ day: DAY - 1 });
      expect(await storeOf().admit(requestOf({ snapshot: yesterday }))).toEqual({ kind: 'read_again', day: DAY });
    });

    it('of another epoch make all callers read again, and then replace the state, whatever their sequence', async () => {
      await admitFresh(storeOf(), { holdId: 'a', snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) });
      const restored = snapshotOf({ epoch: 'epoch-2', sequence: 3, balance: 250n });
      const [one, two] = [
        requestOf({ snapshot: restored }),
        requestOf({ snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) }),
      ];
      expect(await storeOf().admit(one)).toEqual({ kind: 'read_again', day: DAY });
      expect(await storeOf().admit(two)).toEqual({ kind: 'read_again', day: DAY });
      expect(await storeOf().admit(one)).toMatchObject({ kind: 'admitted' });
      // The first hold still counts. The caller that read before the restore must read again.
      expect(await storeOf().heldNanoUsd('org-1', NOON_ISH)).toBe(200n);
      expect(await storeOf().admit(two)).toEqual({ kind: 'read_again', day: DAY });
      expect(await storeOf().admit({ ...two, snapshot: restored })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 50n,
      });
    });

    it('of another epoch are not trusted if read before a charge whose hold was released since', async () => {
      await admitFresh(storeOf(), { holdId: 'a', holdNanoUsd: 600n });
      const before = snapshotOf({ epoch: 'epoch-2', sequence: 5, balance: 1_000n });
      const request = requestOf({ holdNanoUsd: 600n, snapshot: before });
      expect(await storeOf().admit(request)).toEqual({ kind: 'read_again', day: DAY });
      // The second request reads, then the first one's charge commits and ends its hold, then the
      // second is admitted again.
      const charged = snapshotOf({ epoch: 'epoch-2', sequence: 6, balance: 400n });
      await release('a', { snapshot: charged });
      expect(await storeOf().admit(request)).toEqual({ kind: 'read_again', day: DAY });
      expect(await storeOf().admit({ ...request, snapshot: charged })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 400n,
      });
    });

    it('of another epoch in a release are not mixed with the known state', async () => {
      await admitFresh(storeOf(), { holdId: 'a', snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) });
      await release('a', { snapshot: snapshotOf({ epoch: 'epoch-2', sequence: 60, balance: 9_999n }) });
      const request = requestOf({ snapshot: snapshotOf({ sequence: 50, balance: 5_000n }) });
      expect(await storeOf().admit(request)).toEqual({ kind: 'read_again', day: DAY });
      const restored = snapshotOf({ epoch: 'epoch-2', sequence: 3, balance: 99n });
      expect(await storeOf().admit({ ...request, snapshot: restored })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 99n,
      });
    });
  });
}
