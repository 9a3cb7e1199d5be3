import type { OrganizationView } from '#contract/organization.ts';

/** The most urgent warning about an organization's money. */
export type BalanceWarning =
  | { readonly kind: 'suspended'; readonly sinceMs: number }
  /** Requests are refused with `insufficient_credits`. */
  | { readonly kind: 'empty' }
  /** `hours` until the balance is used up at the pace of the last seven days. */
  | { readonly kind: 'low'; readonly averageDayNanoUsd: string; readonly hours: number };

export function balanceWarning(organization: OrganizationView): BalanceWarning | undefined {
  if (organization.suspendedAtMs !== undefined) return { kind: 'suspended', sinceMs: organization.suspendedAtMs };
  const available = availableNanoUsd(organization);
  if (available <= 0n) return { kind: 'empty' };
  const averageDay = BigInt(organization.forecast?.averageDayNanoUsd ?? 0);
  if (available >= averageDay) return undefined;
  return {
    kind: 'low',
    averageDayNanoUsd: averageDay.toString(),
    hours: Math.max(1, Math.floor((Number(available) / Number(averageDay)) * 24)),
  };
}

/** The balance less all holds. */
export function availableNanoUsd({ balanceNanoUsd, heldNanoUsd }: OrganizationView): bigint {
  return BigInt(balanceNanoUsd) - BigInt(heldNanoUsd);
}
