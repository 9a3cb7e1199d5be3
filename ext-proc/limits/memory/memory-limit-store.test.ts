import { describe, expect, it } from 'vitest';
import { MINUTE_MS } from '#core/clock.ts';
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';

/** Behaviour of this store alone; test/contract has that of every limit store. */
describe('the limit store in memory', () => {
  const START = 20_778 * 86_400_000;

  function requestOf(organization: number, nowMs: number, sequence = 1) {
    return {
      holdId: `hold-${organization}-${nowMs}`,
      organizationId: `org-${organization}`,
      keyId: `key-${organization}`,
      nowMs,
      concurrency: 64,
      organizationLimits: {},
      keyLimits: {},
      tokens: 1,
      holdNanoUsd: 1n,
      totalTimeoutMs: 60_000,
      snapshot: {
        ledgerEpoch: 'epoch',
        organization: { sequence, balanceNanoUsd: 100n, day: 20_778, spentNanoUsd: 0n },
        key: { sequence, day: 20_778, spentNanoUsd: 0n },
      },
    };
  }

  it('evicts organizations without holds after a while, and then trusts no old snapshot of them', async () => {
    const store = new MemoryLimitStore({ leaseMs: 3_600_000, idleMs: 60_000 });
    for (const organization of [1, 2]) {
      const request = requestOf(organization, START);
      expect(await store.admit(request)).toMatchObject({ kind: 'read_again' });
      expect(await store.admit(request)).toMatchObject({ kind: 'admitted' });
    }
    const { holdId, organizationId, keyId } = requestOf(1, START);
    await store.release({ holdId, organizationId, keyId, nowMs: START, tokensUsed: 1 });
    const later = START + 3 * MINUTE_MS;
    await store.takeRead('key-1', 1, later);
    // The one that holds something is still known; the other has to be read again.
    expect(await store.admit(requestOf(2, later))).toMatchObject({ kind: 'admitted' });
    expect(await store.admit(requestOf(1, later))).toMatchObject({ kind: 'read_again' });
  });

  it('does not grow with organizations, keys and reads that come and go', async () => {
    const store = new MemoryLimitStore({ leaseMs: 1_000, idleMs: 60_000 });
    const heapAfter = async (round: number) => {
      for (let i = 0; i < 5_000; i++) {
        const nowMs = START + round * 10 * MINUTE_MS;
        const request = requestOf(round * 5_000 + i, nowMs);
        await store.admit(request);
        await store.admit(request);
        await store.takeRead(request.keyId, 1, nowMs);
      }
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    await heapAfter(0);
    const early = await heapAfter(1);
    for (let round = 2; round < 9; round++) await heapAfter(round);
    // 40,000 remembered organizations would be more than 30 MB.
    expect((await heapAfter(9)) - early).toBeLessThan(5_000_000);
  });

  it('counts a call that read the clock just before the minute ended in the newer minute', async () => {
    const store = new MemoryLimitStore({ leaseMs: 1_000 });
    expect(await store.takeRead('key', 1, START + MINUTE_MS)).toEqual({ allowed: true });
    expect(await store.takeRead('key', 1, START + MINUTE_MS - 1)).toEqual({
      allowed: false,
      resetsAtMs: START + 2 * MINUTE_MS,
    });
    // A clock set back for good must not lock a key out until it has caught up.
    expect(await store.takeRead('key', 1, START - 60 * MINUTE_MS)).toEqual({ allowed: true });
  });
});
