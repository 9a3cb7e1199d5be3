import { describe, expect, it } from 'vitest';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';
import type { AdmissionRequest, LimitStore } from '#ext-proc/limits/limit-store.ts';
import { admitFresh, DAY, NOON_ISH, releaseOf, requestOf, snapshotOf } from './limit-store.fixtures.ts';

/** The rules of an admission. */
export function rulesContract(storeOf: () => LimitStore): void {
  const release = (...args: Parameters<typeof releaseOf>) => storeOf().release(releaseOf(...args));

  describe('rules', () => {
    it('fail in the documented order', async () => {
      const limits = { requestsPerMinute: 1, tokensPerMinute: 10, dailyBudgetNanoUsd: 150n };
      const all = { concurrency: 1, organizationLimits: limits, snapshot: snapshotOf({ balance: 150n }) };
      expect(await admitFresh(storeOf(), all)).toMatchObject({ kind: 'admitted', day: DAY });
      const rule = async (changes: Partial<AdmissionRequest>) => {
        const result = await admitFresh(storeOf(), { ...all, ...changes });
        return result.kind === 'refused' ? [result.rule, result.resetsAtMs, result.availableNanoUsd] : result;
      };
      const minute = NOON_ISH + MINUTE_MS;
      expect(await rule({})).toEqual(['concurrency', NOON_ISH, 50n]);
      expect(await rule({ concurrency: 2 })).toEqual(['requests', minute, 50n]);
      const noRequests = { concurrency: 2, organizationLimits: { ...limits, requestsPerMinute: 2 } };
      expect(await rule(noRequests)).toEqual(['tokens', minute, 50n]);
      const noTokens = { concurrency: 2, organizationLimits: { dailyBudgetNanoUsd: 150n } };
      expect(await rule(noTokens)).toEqual(['daily_budget', (DAY + 1) * DAY_MS, 50n]);
      expect(await rule({ concurrency: 2, organizationLimits: {} })).toEqual(['balance', NOON_ISH, 50n]);
      expect(await rule({ concurrency: 2, organizationLimits: {}, holdNanoUsd: 50n })).toMatchObject({
        kind: 'admitted',
      });
    });

    it.each([
      ['requests', { requestsPerMinute: 1 }],
      ['tokens', { tokensPerMinute: 10 }],
      ['daily_budget', { dailyBudgetNanoUsd: 150n }],
    ])('for %s say whether only the limit of the key fails', async (rule, limits) => {
      const of = async (keyLimits: object, organizationLimits: object) => {
        const result = await admitFresh(storeOf(), { keyLimits, organizationLimits });
        return result.kind === 'refused' ? [result.rule, result.ofKey] : result.kind;
      };
      expect(await of(limits, limits)).toBe('admitted');
      expect(await of(limits, {})).toEqual([rule, true]);
      expect(await of({}, limits)).toEqual([rule, false]);
      expect(await of(limits, limits)).toEqual([rule, false]);
    });

    it('admit exactly ten of sixty concurrent requests with a balance for ten', async () => {
      const results = await Promise.all(Array.from({ length: 60 }, () => admitFresh(storeOf())));
      const kinds = results.map((result) => (result.kind === 'refused' ? result.rule : result.kind));
      expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(10);
      expect(kinds.filter((kind) => kind === 'balance')).toHaveLength(50);
      expect(await storeOf().heldNanoUsd('org-1', NOON_ISH)).toBe(1_000n);
    });
  });

  describe('windows', () => {
    it('begin and end with the UTC minute', async () => {
      const organizationLimits = { requestsPerMinute: 2 };
      const at = (nowMs: number) => admitFresh(storeOf(), { organizationLimits, nowMs });
      const resetsAtMs = NOON_ISH + MINUTE_MS;
      const window = (remaining: number) => ({ windows: { requests: { limit: 2, remaining, resetsAtMs } } });
      expect(await at(NOON_ISH)).toMatchObject(window(1));
      expect(await at(NOON_ISH + 59_999)).toMatchObject(window(0));
      expect(await at(NOON_ISH + 59_999)).toMatchObject({ rule: 'requests', ...window(0) });
      expect(await at(NOON_ISH + MINUTE_MS)).toMatchObject({
        kind: 'admitted',
        windows: { requests: { remaining: 1, resetsAtMs: resetsAtMs + MINUTE_MS } },
      });
    });

    it('of reads are separate for each key', async () => {
      for (let i = 0; i < 3; i++) expect(await storeOf().takeRead('key-1', 3, NOON_ISH + i)).toEqual({ allowed: true });
      const refused = { allowed: false, resetsAtMs: NOON_ISH + MINUTE_MS };
      expect(await storeOf().takeRead('key-1', 3, NOON_ISH + 5)).toEqual(refused);
      expect(await storeOf().takeRead('key-2', 3, NOON_ISH + 5)).toEqual({ allowed: true });
      expect(await storeOf().takeRead('key-1', 3, NOON_ISH + MINUTE_MS)).toEqual({ allowed: true });
    });
  });

  describe('refused requests', () => {
    it('are counted for each organization or key by the minute', async () => {
      const resetsAtMs = NOON_ISH + MINUTE_MS;
      expect(await storeOf().countRefused('org-1', 1, NOON_ISH)).toEqual({ refused: 1, resetsAtMs });
      expect(await storeOf().countRefused('org-1', 41, NOON_ISH + 59_999)).toEqual({ refused: 42, resetsAtMs });
      expect(await storeOf().countRefused('key-1', 2, NOON_ISH)).toEqual({ refused: 2, resetsAtMs });
      const next = { refused: 3, resetsAtMs: resetsAtMs + MINUTE_MS };
      expect(await storeOf().countRefused('org-1', 3, resetsAtMs)).toEqual(next);
      // This call was sent a moment earlier and arrived later.
      expect(await storeOf().countRefused('org-1', 1, resetsAtMs - 1)).toMatchObject({ refused: 4 });
    });

    it('do not count as reads or admissions', async () => {
      await storeOf().countRefused('key-1', 100, NOON_ISH);
      await storeOf().countRefused('org-1', 100, NOON_ISH);
      expect(await storeOf().takeRead('key-1', 1, NOON_ISH)).toEqual({ allowed: true });
      const limits = { requestsPerMinute: 1 };
      expect(await admitFresh(storeOf(), { organizationLimits: limits })).toMatchObject({ kind: 'admitted' });
    });
  });

  describe('daily budgets', () => {
    it('are reset at midnight, while yesterday’s holds still count against the balance', async () => {
      const organizationLimits = { dailyBudgetNanoUsd: 100n };
      const midnight = (DAY + 1) * DAY_MS;
      const late = { organizationLimits, nowMs: midnight - 1 };
      expect(await admitFresh(storeOf(), { holdId: 'late', ...late })).toMatchObject({ kind: 'admitted', day: DAY });
      expect(await admitFresh(storeOf(), late)).toMatchObject({ rule: 'daily_budget', resetsAtMs: midnight });
      const early = { organizationLimits, nowMs: midnight };
      expect(await storeOf().admit(requestOf(early))).toEqual({ kind: 'read_again', day: DAY + 1 });
      const today = snapshotOf({ day: DAY + 1, balance: 150n, sequence: 2 });
      expect(await admitFresh(storeOf(), { ...early, snapshot: today })).toMatchObject({
        rule: 'balance',
        availableNanoUsd: 50n,
      });
      expect(await admitFresh(storeOf(), { ...early, snapshot: today, holdNanoUsd: 50n })).toMatchObject({
        kind: 'admitted',
        day: DAY + 1,
      });
      // A charge of yesterday changes the balance, but not today's spend.
      const settled = snapshotOf({ day: DAY, balance: 1_000n, sequence: 3, spent: 100n });
      await release('late', { nowMs: midnight + 1, snapshot: settled });
      expect(await admitFresh(storeOf(), { ...early, snapshot: today, holdNanoUsd: 50n })).toMatchObject({
        kind: 'admitted',
      });
    });
  });
}
