import type { UtcDay } from '#core/clock.ts';
import type { KeyAccount } from '#core/principal.ts';

/** Spend of a key. Amounts are text, because JSON's numbers are not exact. */
export function keyAccountOf(
  sequence: number,
  day: UtcDay,
  spent: string,
  monthSpent: string | null | undefined,
  lifetimeSpent: string | null | undefined,
): KeyAccount {
  const account = { sequence, day, spentNanoUsd: BigInt(spent) };
  if (monthSpent == null && lifetimeSpent == null) return account;
  return {
    ...account,
    ...(monthSpent == null ? {} : { monthSpentNanoUsd: BigInt(monthSpent) }),
    ...(lifetimeSpent == null ? {} : { lifetimeSpentNanoUsd: BigInt(lifetimeSpent) }),
  };
}
