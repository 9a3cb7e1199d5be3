import { describe, expect, it } from 'vitest';
import type { AdmissionRequest, Hold, LimitStore } from '#ext-proc/limits/limit-store.ts';
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

/** Holds whose response has ended, and whose charge is durable but not committed yet. */
export function owedContract(storeOf: () => LimitStore): void {
  const at = (ms: number) => NOON_ISH + ms;
  const held = (ms: number) => storeOf().heldNanoUsd('org-1', at(ms));
  const release = (id: string, ms: number, changes: Parameters<typeof releaseOf>[1] = {}) =>
    storeOf().release(releaseOf(id, { nowMs: at(ms), ...changes }));
  const owe = (id: string, ms: number, owedNanoUsd: bigint, tokensUsed = 0) =>
    release(id, ms, { owedNanoUsd, tokensUsed });
  const renew = (changes: Partial<Hold>, ms: number) =>
    storeOf().renew(
      [
        {
          ...{ holdId: 'a', organizationId: 'org-1', keyId: 'key-1', day: DAY, holdNanoUsd: 700n },
          ...{ totalTimeoutMs: TOTAL_MS, ...changes },
        },
      ],
      at(ms),
    );
  const ask = async (changes: Partial<AdmissionRequest>) => {
    const result = await admitFresh(storeOf(), changes);
    return result.kind === 'refused' ? [result.rule, result.availableNanoUsd] : result.kind;
  };
  const KNOWN = { takenBack: [], exposed: [], failed: [] };

  describe('an owed hold', () => {
    it('has no slot, its used tokens, and the amount of its charge until the commit', async () => {
      const mine = { concurrency: 1, organizationLimits: { tokensPerMinute: 10 }, keyLimits: { tokensPerMinute: 10 } };
      await ask({ ...mine, holdId: 'a', holdNanoUsd: 700n, tokens: 9 });
      await owe('a', 1, 250n, 4);
      expect(await held(1)).toBe(250n);
      const charged = snapshotOf({ sequence: 2, balance: 750n, spent: 250n, keySpent: 250n });
      expect(await ask({ ...mine, holdNanoUsd: 751n, tokens: 6 })).toEqual(['balance', 750n]);
      expect(await ask({ ...mine, holdNanoUsd: 1n, tokens: 7 })).toEqual(['tokens', 750n]);
      await release('a', 2, { snapshot: charged, tokensUsed: 4 });
      expect(await held(2)).toBe(0n);
      expect(await ask({ ...mine, holdNanoUsd: 751n, tokens: 6 })).toEqual(['balance', 750n]);
      expect(await ask({ ...mine, holdNanoUsd: 750n, tokens: 6 })).toBe('admitted');
      expect(await ask({ ...mine, holdNanoUsd: 0n, tokens: 0 })).toEqual(['concurrency', 0n]);
    });

    it('becomes owed once and ends once: repeated, late and reordered releases change nothing', async () => {
      const mine = { concurrency: 2, organizationLimits: { tokensPerMinute: 10 } };
      await ask({ ...mine, holdId: 'a', holdNanoUsd: 700n, tokens: 9 });
      for (const owed of [250n, 250n, 100n, 600n]) await owe('a', 1, owed, 4);
      expect(await held(1)).toBe(250n);
      // A repeated admission takes nothing more either.
      expect(await ask({ ...mine, holdId: 'a', holdNanoUsd: 700n, tokens: 9 })).toBe('admitted');
      const charged = { snapshot: snapshotOf({ sequence: 2, balance: 750n }), tokensUsed: 4 };
      for (let i = 0; i < 2; i++) await release('a', 2, charged);
      await owe('a', 3, 250n, 4);
      await owe('never', 3, 250n, 4);
      expect(await held(3)).toBe(0n);
      await ask({ ...mine, holdId: 'b', tokens: 3 });
      expect(await admitFresh(storeOf(), { ...mine, tokens: 3 })).toMatchObject({
        kind: 'admitted',
        windows: { tokens: { remaining: 0 } },
      });
      expect(await ask(mine)).toMatchObject(['concurrency', 550n]);
      await release('b', 4);
      await owe('b', 4, 100n);
      expect(await ask({ ...mine, organizationLimits: {} })).toBe('admitted');
    });

    it('ends with its tokens at the final release if the owed release was lost', async () => {
      const mine = { concurrency: 1, organizationLimits: { tokensPerMinute: 10 } };
      await ask({ ...mine, holdId: 'a', tokens: 9 });
      await release('a', 1, { snapshot: snapshotOf({ sequence: 2, balance: 950n }), tokensUsed: 4 });
      expect(await ask({ ...mine, holdNanoUsd: 950n, tokens: 6 })).toBe('admitted');
    });

    it('frees its slot and money for other requests of the same call', async () => {
      await ask({ holdId: 'a', holdNanoUsd: 700n });
      const next = requestOf({ concurrency: 1, holdNanoUsd: 750n });
      const [, early, , late] = await Promise.all([
        owe('a', 0, 250n),
        storeOf().admit(next),
        release('a', 0, { snapshot: snapshotOf({ sequence: 2, balance: 750n }) }),
        storeOf().admit(requestOf({ concurrency: 2, holdNanoUsd: 1n })),
      ]);
      expect(early).toMatchObject({ kind: 'admitted' });
      expect(late).toMatchObject({ rule: 'balance', availableNanoUsd: 0n });
    });

    it('has no slot for a later request of this process, also while other calls are under way', async () => {
      for (const holdId of ['a', 'b']) await ask({ holdId, concurrency: 2, holdNanoUsd: 400n });
      const other = owe('b', 0, 100n);
      // It is sent now, and cannot be answered before the next turn.
      await Promise.resolve();
      const next = requestOf({ concurrency: 1, holdNanoUsd: 800n });
      const [, , admitted] = await Promise.all([other, owe('a', 0, 100n), storeOf().admit(next)]);
      expect(admitted).toMatchObject({ kind: 'admitted' });
    });

    it('does not change trust', async () => {
      await ask({ holdId: 'a' });
      await owe('a', 1, 50n);
      expect(await storeOf().admit(requestOf({ nowMs: at(2) }))).toMatchObject({ kind: 'admitted' });
    });

    it('can end with an unknown charge: only snapshots read after that are trusted', async () => {
      await ask({ holdId: 'a', holdNanoUsd: 700n });
      await owe('a', 1, 250n);
      await release('a', 2, { mayBeCharged: true });
      expect(await held(2)).toBe(0n);
      expect(await storeOf().admit(requestOf())).toEqual({ kind: 'read_again', day: DAY });
    });
  });

  describe('the lease of an owed hold', () => {
    it('is followed by a quarantine, which keeps the owed amount until no request can be as old', async () => {
      await ask({ holdId: 'a', holdNanoUsd: 700n });
      await owe('a', LEASE_MS - 1, 250n);
      expect(await held(QUARANTINE_MS - 1)).toBe(250n);
      expect(await ask({ nowMs: at(QUARANTINE_MS - 1), concurrency: 1, holdNanoUsd: 751n })).toEqual(['balance', 750n]);
      expect(await held(QUARANTINE_MS)).toBe(0n);
      expect(await storeOf().admit(requestOf({ nowMs: at(QUARANTINE_MS) }))).toMatchObject({ kind: 'read_again' });
    });

    it('is renewed while its charge waits, without a slot, whether or not the renewal has the amount', async () => {
      await ask({ holdId: 'a', holdNanoUsd: 700n });
      await owe('a', 1, 250n);
      let ms = 0;
      for (; ms < 2 * QUARANTINE_MS; ms += 10_000) {
        expect(await renew(ms % 20_000 === 0 ? {} : { owedNanoUsd: 250n }, ms)).toEqual(KNOWN);
      }
      const expiresMs = ms - 10_000 + LEASE_MS;
      const late = { nowMs: at(expiresMs), concurrency: 1 };
      expect(await ask({ ...late, holdNanoUsd: 751n })).toEqual(['balance', 750n]);
      expect(await held(expiresMs + QUARANTINE_MS - 1)).toBe(250n);
      expect(await held(expiresMs + QUARANTINE_MS)).toBe(0n);
    });

    it('begins again when a hold in quarantine becomes owed, without a slot', async () => {
      await ask({ holdId: 'a', holdNanoUsd: 700n });
      expect(await held(LEASE_MS)).toBe(700n);
      await owe('a', QUARANTINE_MS - 1, 250n);
      const expiresMs = QUARANTINE_MS - 1 + LEASE_MS;
      expect(await renew({}, expiresMs - LEASE_MS)).toEqual(KNOWN);
      expect(await ask({ nowMs: at(expiresMs), concurrency: 1, holdNanoUsd: 750n })).toBe('admitted');
      expect(await held(expiresMs + QUARANTINE_MS - 1)).toBe(1_000n);
      expect(await held(expiresMs + QUARANTINE_MS)).toBe(0n);
    });
  });

  it('an unknown hold is not registered as owed, because another process committed its charge and released it', async () => {
    const owed = { owedNanoUsd: 250n };
    await ask({ holdId: 'a', holdNanoUsd: 700n });
    await release('a', 1, { snapshot: snapshotOf({ sequence: 2, balance: 750n }) });
    expect(await renew(owed, 2)).toEqual(KNOWN);
    expect(await held(2)).toBe(0n);
    await ask({ holdId: 'a', nowMs: at(3) });
    expect(await renew(owed, 2 + LEASE_MS)).toEqual(KNOWN);
    expect(await held(QUARANTINE_MS)).toBe(100n);
  });
}
