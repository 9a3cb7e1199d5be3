import { describe, expect, it } from 'vitest';
import { utcDay } from '#core/clock.ts';
import type { AdmissionRequest, LimitStore } from '#ext-proc/limits/limit-store.ts';
import { admitFresh, NOON_ISH, releaseOf, requestOf, type SnapshotParts, snapshotOf } from './limit-store.fixtures.ts';

/** The monthly and lifetime budgets of keys, which are rules like the balance. */
export function budgetsContract(storeOf: () => LimitStore): void {
  const OCTOBER_ENDS = Date.parse('2026-11-01');
  const LAST_OF_OCTOBER = utcDay(OCTOBER_ENDS) - 1;
  const NOVEMBER_ENDS = Date.parse('2026-12-01');

  const monthly = { monthlyBudgetNanoUsd: 500n };
  const lifetime = { lifetimeBudgetNanoUsd: 500n };
  const spent = (monthSpent: bigint, lifetimeSpent: bigint, more: SnapshotParts = {}) =>
    snapshotOf({ monthSpent, lifetimeSpent, ...more });
  const ask = async (changes: Partial<AdmissionRequest>) => {
    const result = await admitFresh(storeOf(), changes);
    return result.kind === 'refused' ? [result.rule, result.availableNanoUsd, result.resetsAtMs] : result.kind;
  };

  describe('monthly and lifetime budgets', () => {
    it('are named in a refusal if scarcest: if equal, first the month, then the lifetime, then the balance', async () => {
      const keyLimits = { ...monthly, ...lifetime };
      const of = async (month: bigint, ever: bigint, balance: bigint, sequence: number) =>
        ask({ keyLimits, holdNanoUsd: 400n, snapshot: spent(month, ever, { balance, sequence }) });
      expect(await of(200n, 200n, 300n, 1)).toEqual(['monthly_budget', 300n, NOVEMBER_ENDS]);
      expect(await of(199n, 200n, 300n, 2)).toEqual(['lifetime_budget', 300n, NOON_ISH]);
      expect(await of(199n, 199n, 300n, 3)).toEqual(['balance', 300n, NOON_ISH]);
      expect(await of(199n, 500n, 300n, 4)).toEqual(['lifetime_budget', 0n, NOON_ISH]);
      expect(await of(600n, 500n, 300n, 5)).toEqual(['monthly_budget', -100n, NOVEMBER_ENDS]);
    });

    it('learn the spend of each charge', async () => {
      const keyLimits = { ...monthly, ...lifetime };
      const mine = { keyLimits, snapshot: spent(0n, 100n) };
      expect(await ask({ ...mine, holdId: 'a', holdNanoUsd: 400n })).toBe('admitted');
      const charged = spent(150n, 250n, { sequence: 2 });
      await storeOf().release(releaseOf('a', { snapshot: charged }));
      // This caller read its snapshot before the charge.
      expect(await ask({ ...mine, holdNanoUsd: 251n })).toEqual(['lifetime_budget', 250n, NOON_ISH]);
      expect(await ask({ ...mine, holdNanoUsd: 250n })).toBe('admitted');
    });

    it('of a month are reset with the UTC month, and that of the lifetime never', async () => {
      const late = { nowMs: OCTOBER_ENDS - 1, holdNanoUsd: 300n };
      const october = { day: LAST_OF_OCTOBER };
      const keys = { monthly: { keyLimits: monthly }, lifetime: { keyLimits: lifetime, keyId: 'key-2' } };
      for (const key of Object.values(keys)) {
        const mine = { ...late, ...key, snapshot: spent(200n, 200n, october) };
        expect(await ask({ ...mine, holdId: `late ${Object.keys(key.keyLimits)}` })).toBe('admitted');
        expect(await ask({ ...mine, holdNanoUsd: 1n })).toMatchObject([/_budget$/, 0n, expect.any(Number)]);
      }
      const early = { nowMs: OCTOBER_ENDS, holdNanoUsd: 500n };
      expect(
        await storeOf().admit(requestOf({ ...early, ...keys.monthly, snapshot: spent(200n, 200n, october) })),
      ).toEqual({
        kind: 'read_again',
        day: LAST_OF_OCTOBER + 1,
      });
      const november = { day: LAST_OF_OCTOBER + 1, balance: 5_000n, sequence: 2 };
      const snapshot = spent(0n, 200n, november);
      expect(await ask({ ...early, ...keys.monthly, holdId: 'early', snapshot })).toBe('admitted');
      expect(await ask({ ...early, ...keys.monthly, holdNanoUsd: 1n, snapshot })).toEqual([
        'monthly_budget',
        0n,
        NOVEMBER_ENDS,
      ]);
      // Last month's hold still counts for the lifetime.
      expect(await ask({ ...early, ...keys.lifetime, holdNanoUsd: 1n, snapshot })).toEqual([
        'lifetime_budget',
        0n,
        OCTOBER_ENDS,
      ]);
    });

    it("count the charge of last month's hold in that month", async () => {
      const october = { day: LAST_OF_OCTOBER };
      const mine = { keyLimits: { ...monthly, ...lifetime } };
      expect(
        await ask({
          ...mine,
          holdId: 'late',
          nowMs: OCTOBER_ENDS - 1,
          holdNanoUsd: 300n,
          snapshot: spent(0n, 0n, october),
        }),
      ).toBe('admitted');
      const snapshot = spent(0n, 0n, { day: LAST_OF_OCTOBER + 1, sequence: 2 });
      const early = { ...mine, nowMs: OCTOBER_ENDS, snapshot };
      expect(await ask({ ...early, holdNanoUsd: 201n })).toEqual(['lifetime_budget', 200n, OCTOBER_ENDS]);
      const charged = spent(280n, 280n, { ...october, sequence: 3 });
      await storeOf().release(releaseOf('late', { nowMs: OCTOBER_ENDS, snapshot: charged }));
      expect(await ask({ ...early, holdNanoUsd: 221n })).toEqual(['lifetime_budget', 220n, OCTOBER_ENDS]);
      expect(await ask({ ...early, keyLimits: monthly, holdNanoUsd: 500n })).toBe('admitted');
    });

    it('are not exceeded by sixty-four concurrent requests', async () => {
      const keyLimits = { lifetimeBudgetNanoUsd: 1_050n };
      const snapshot = spent(0n, 0n, { balance: 1_000_000n });
      const results = await Promise.all(
        Array.from({ length: 64 }, () => ask({ keyLimits, snapshot, concurrency: 100 })),
      );
      expect(results.filter((result) => result === 'admitted')).toHaveLength(10);
      expect(results.filter((result) => result !== 'admitted')).toEqual(
        Array.from({ length: 54 }, () => ['lifetime_budget', 50n, NOON_ISH]),
      );
    });
  });
}
