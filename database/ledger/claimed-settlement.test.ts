import { describe, expect, it } from 'vitest';
import { inClaimOrder, inParts } from './claimed-settlement.ts';
import type { ClaimedSettlement } from './ledger.ts';

const MIB = 1024 * 1024;

/** Only what these functions look at. */
function settlement(organizationId: string, key: number, mib?: number): ClaimedSettlement {
  const keyHash = Buffer.alloc(32, key);
  const claim = { keyHash, bodyHash: keyHash, ...(mib === undefined ? {} : { response: Buffer.alloc(mib * MIB) }) };
  return { organizationId, claim } as ClaimedSettlement;
}

describe('a batch of claimed settlements', () => {
  it('is split when its responses become large', () => {
    const sizes = (...all: (number | undefined)[]) =>
      inParts(all.map((mib) => settlement('org', 1, mib))).map((part) =>
        part.map(({ claim }) => (claim.response?.length ?? 0) / MIB),
      );
    expect(sizes()).toEqual([]);
    expect(sizes(1, undefined, 2)).toEqual([[1, 0, 2]]);
    expect(sizes(10, 6, 1, 64, 1)).toEqual([[10, 6], [1], [64], [1]]);
    expect(sizes(17)).toEqual([[17]]);
  });

  it('locks in one order, by organization and key', () => {
    const [a2, b1, a1] = [settlement('a', 2), settlement('b', 1), settlement('a', 1)];
    expect(inClaimOrder([a2, b1, a1])).toEqual([a1, a2, b1]);
    expect(inClaimOrder([b1, a1, a2])).toEqual([a1, a2, b1]);
  });
});
