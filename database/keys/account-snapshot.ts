import type { UtcDay } from '#core/clock.ts';
import type { AccountSnapshot } from '#core/principal.ts';

/** An account in SQL's JSON. Amounts are text, because JSON's numbers are not exact. */
export type AccountFields = readonly [
  sequence: number,
  balanceNanoUsd: string,
  organizationSpentNanoUsd: string,
  keySpentNanoUsd: string,
  /** Null or absent: the key has no such budget. */
  keyMonthSpentNanoUsd?: string | null,
  keyLifetimeSpentNanoUsd?: string | null,
];

/** A key has the sequence of its organization: both change under the account's row lock. */
export function snapshotOf(ledgerEpoch: string, day: UtcDay, fields: AccountFields): AccountSnapshot {
  const [sequence, balance, organizationSpent, keySpent, keyMonth, keyLifetime] = fields;
  return {
    ledgerEpoch,
    organization: { sequence, balanceNanoUsd: BigInt(balance), day, spentNanoUsd: BigInt(organizationSpent) },
    key: {
      sequence,
      day,
      spentNanoUsd: BigInt(keySpent),
      ...(keyMonth == null ? {} : { monthSpentNanoUsd: BigInt(keyMonth) }),
      ...(keyLifetime == null ? {} : { lifetimeSpentNanoUsd: BigInt(keyLifetime) }),
    },
  };
}
