import { firstOfMonth } from '#core/clock.ts';
import type { AccountSnapshot } from '#core/principal.ts';

/**
 * A minimal model of PostgreSQL's part of the money: the committed entries, and what a read of them
 * returns.
 */
export function createLedgerModel(openingNanoUsd: bigint) {
  const entries = new Map<string, { nanoUsd: bigint; keyId?: string; day?: number; holdId?: string }[]>();
  const of = (organizationId: string) => {
    const known = entries.get(organizationId) ?? [{ nanoUsd: openingNanoUsd }];
    entries.set(organizationId, known);
    return known;
  };
  const sum = (amounts: readonly { nanoUsd: bigint }[]) => amounts.reduce((total, { nanoUsd }) => total + nanoUsd, 0n);
  return {
    credit: (organizationId: string, nanoUsd: bigint) => void of(organizationId).push({ nanoUsd }),
    charge(
      holdId: string,
      { organizationId, keyId }: { organizationId: string; keyId: string },
      day: number,
      cost: bigint,
    ) {
      of(organizationId).push({ nanoUsd: -cost, keyId, day, holdId });
    },
    read(organizationId: string, keyId: string, day: number): AccountSnapshot {
      const all = of(organizationId);
      const ofDay = all.filter((entry) => entry.day === day);
      const sequence = all.length;
      const ofKey = all.filter((entry) => entry.keyId === keyId);
      const inMonth = ofKey.filter((entry) => firstOfMonth(entry.day ?? 0) === firstOfMonth(day));
      const longer = { monthSpentNanoUsd: -sum(inMonth), lifetimeSpentNanoUsd: -sum(ofKey) };
      return {
        ledgerEpoch: 'epoch',
        organization: { sequence, balanceNanoUsd: sum(all), day, spentNanoUsd: -sum(ofDay) },
        key: { sequence, day, spentNanoUsd: -sum(ofKey.filter((entry) => entry.day === day)), ...longer },
      };
    },
  };
}
