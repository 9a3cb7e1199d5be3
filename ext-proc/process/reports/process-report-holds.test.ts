import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Hold } from '../../limits/limit-store.ts';
import { sumHolds } from './process-report-holds.ts';

let holdIds = 0;
const hold = (organizationId: string, holdNanoUsd: bigint): Hold => {
  holdIds += 1;
  return { holdId: `gen-${holdIds}`, organizationId, keyId: 'key-1', day: 1, holdNanoUsd, totalTimeoutMs: 1 };
};

it('adds up by organization, beyond what a double can count', () => {
  const large = 2n ** 60n;
  expect(sumHolds([hold('a', large), hold('b', 5n), hold('a', 1n)])).toEqual({
    totalNanoUsd: String(large + 6n),
    count: 3,
    organizations: { a: [String(large + 1n), 2], b: ['5', 1] },
    leftOut: 0,
  });
  expect(sumHolds([])).toEqual({ totalNanoUsd: '0', count: 0, organizations: {}, leftOut: 0 });
});

it('keeps the largest when there are too many, and the total of all', () => {
  const holds = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.bigInt({ min: 0n, max: 1000n })), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(holds, fc.integer({ min: 1, max: 12 }), (pairs, most) => {
      const live = pairs.map(([organization, amount]) => hold(`org-${organization}`, amount));
      const found = sumHolds(live, most);
      const all = sumHolds(live);
      expect(found.totalNanoUsd).toBe(String(pairs.reduce((sum, [, amount]) => sum + amount, 0n)));
      const kept = Object.entries(found.organizations);
      expect(kept.length + found.leftOut).toBe(Object.keys(all.organizations).length);
      expect(kept.length).toBeLessThanOrEqual(most);
      for (const [id, sum] of kept) expect(sum).toEqual(all.organizations[id]);
      const left = Object.entries(all.organizations).filter(([id]) => !(id in found.organizations));
      for (const [, [leftSum]] of left)
        for (const [, [keptSum]] of kept) expect(BigInt(keptSum)).toBeGreaterThanOrEqual(BigInt(leftSum));
    }),
  );
});
